/** How soon the doubles answer: what is measured with them would otherwise be theirs. */
import { CLUSTER, TABLE } from '../e2e/watch-stage.ts';

const WARM_UP = 30;
const TIMES = 100;
const AUTHORIZATION =
  'AWS4-HMAC-SHA256 Credential=local/20260101/eu-west-1/any/aws4_request, SignedHeaders=host, Signature=0';

/** Times of DescribeTasks on the ECS double, and of GetItem on dynalite, one after the other. */
export async function doubleAnswersMs(ecsUrl: string, tableUrl: string): Promise<{ ecs: number[]; table: number[] }> {
  const describe = { cluster: CLUSTER, tasks: ['0'.repeat(32)] };
  const get = { TableName: TABLE, Key: { pk: { S: 'nothing' }, sk: { S: 'nothing' } } };
  return {
    ecs: await times(ecsUrl, 'AmazonEC2ContainerServiceV20141113.DescribeTasks', '1.1', describe),
    table: await times(tableUrl, 'DynamoDB_20120810.GetItem', '1.0', get),
  };
}

async function times(url: string, target: string, version: string, body: unknown): Promise<number[]> {
  const took: number[] = [];
  for (let n = 0; n < WARM_UP + TIMES; n++) {
    const startMs = performance.now();
    const answer = await fetch(url, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: {
        'content-type': `application/x-amz-json-${version}`,
        'x-amz-target': target,
        'x-amz-date': '20260101T000000Z',
        authorization: AUTHORIZATION,
      },
    });
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`${target}: ${answer.status} ${text}`);
    took.push(performance.now() - startMs);
  }
  return took.slice(WARM_UP);
}
