/** Child process: reads every check of the estate and parses the answer, several times. */
import { Agent } from 'undici';
import { peakMb, taskOfChild, tell } from './estate-messages.ts';

void main();

async function main(): Promise<void> {
  const { consulUrl, next } = taskOfChild();
  const agent = new Agent();
  const readMs: number[] = [];
  let checks = 0;
  let critical = 0;
  for (let n = 0; n <= next; n++) {
    const startMs = performance.now();
    const answer = await agent.request({ origin: consulUrl, path: '/v1/health/state/any', method: 'GET' });
    const all: { readonly Status: string }[] = JSON.parse(await answer.body.text());
    critical = all.filter(({ Status }) => Status === 'critical').length;
    readMs.push(performance.now() - startMs);
    checks = all.length;
  }
  await agent.close();
  tell({ readMs, checks, critical, peakMb: await peakMb() });
}
