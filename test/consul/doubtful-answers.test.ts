import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { ReadFailure } from '../../lib/ports.ts';
import { json, jumpingClock, portFor, rawCheck, readOnce, SOUND, serve } from './scripted-server.ts';

/** Reads once from a server that always answers so; hands back the failure. */
async function failureOf(answer: (response: ServerResponse) => void, read = readOnce): Promise<ReadFailure> {
  const server = await serve((_request, response) => answer(response));
  const failure = await read(portFor([server.address], { clock: jumpingClock() })).then(
    (checks) => expect.fail(`took it for data: ${JSON.stringify(checks)}`),
    (error: unknown) => error,
  );
  expect(failure).toBeInstanceOf(ReadFailure);
  return failure as ReadFailure;
}

const orders = { node: 'n1', serviceId: 'orders-1', serviceName: 'orders', namespace: '', partition: '' };

describe('answers that are no data', () => {
  test('C01: 500 "No cluster leader" is no-leader', async () => {
    const failure = await failureOf((response) =>
      response.writeHead(500, { 'content-type': 'text/plain' }).end('No cluster leader'),
    );
    expect(failure).toMatchObject({ system: 'consul', code: 'no-leader' });
    expect(failure.message).toContain('No cluster leader');
  });

  test('C02a: a look-up without a leader from a streaming backend is a normal answer', async () => {
    const checks = ['c1', 'c2', 'c3'].map((id) => rawCheck({ CheckID: id, Status: 'passing' }));
    const server = await serve((_request, response) =>
      json(response, checks, { 'x-consul-knownleader': 'false', 'x-consul-query-backend': 'streaming' }),
    );
    const found = await portFor([server.address]).lookUpChecks(
      ['c1', 'c2', 'c3'].map((checkId) => ({ ...orders, checkId })),
    );
    expect([...found.values()].map((check) => check.status)).toEqual(['passing', 'passing', 'passing']);
  });

  test('C02b: an empty list without a leader is not "all recovered"', async () => {
    const failure = await failureOf((response) => json(response, [], { 'x-consul-knownleader': 'false' }));
    expect(failure.code).toBe('no-leader');
  });

  test('C02b: nor is an empty look-up, or a missing key', async () => {
    const leaderless = { 'x-consul-knownleader': 'false' };
    const lookUp = await failureOf(
      (response) => json(response, [], leaderless),
      async (port) => [...(await port.lookUpChecks([{ ...orders, checkId: 'c1' }])).values()],
    );
    expect(lookUp.code).toBe('no-leader');
    const key = await failureOf(
      (response) => response.writeHead(404, { ...SOUND, ...leaderless }).end(),
      (port) => port.readKey('policy').then(() => []),
    );
    expect(key.code).toBe('no-leader');
  });

  test('C02c: a full list without a leader, from old data, is no data', async () => {
    const failure = await failureOf((response) =>
      json(response, [rawCheck()], { 'x-consul-knownleader': 'false', 'x-consul-lastcontact': '45000' }),
    );
    expect(['no-leader', 'stale']).toContain(failure.code);
  });

  test.each([
    ['5000', undefined],
    ['5001', 'stale'],
    ['a minute', 'stale'],
  ])('an answer with X-Consul-LastContact %s: %s', async (lastContact, code) => {
    const server = await serve((_request, response) =>
      json(response, [rawCheck()], { 'x-consul-lastcontact': lastContact }),
    );
    const read = readOnce(portFor([server.address], { clock: jumpingClock() }));
    if (code === undefined) await expect(read).resolves.toHaveLength(1);
    else await expect(read).rejects.toMatchObject({ code });
  });

  test('C03: an answer that ACLs have filtered is no data, and is not asked again', async () => {
    const server = await serve((_request, response) =>
      json(response, [rawCheck(), rawCheck({ CheckID: 'c2' })], { 'x-consul-results-filtered-by-acls': 'true' }),
    );
    await expect(readOnce(portFor([server.address]))).rejects.toMatchObject({ code: 'filtered' });
    expect(server.asked).toHaveLength(1);
  });

  test('C04: an HTML page with status 200 is an outage; the error names status and content type', async () => {
    const failure = await failureOf((response) =>
      response
        .writeHead(200, { ...SOUND, 'content-type': 'text/html' })
        .end(`<html>\u0007<body>maintenance ${'x'.repeat(500)}</body></html>`),
    );
    expect(failure.code).toBe('malformed');
    expect(failure.message).toContain('200');
    expect(failure.message).toContain('text/html');
    expect(failure.message).toContain('maintenance');
    expect(failure.message).not.toContain('\u0007');
    expect(failure.message.length).toBeLessThanOrEqual(300);
  });

  test('C05a: a body shorter than its Content-Length is no data', async () => {
    const body = JSON.stringify(Array.from({ length: 30 }, () => rawCheck()));
    const failure = await failureOf((response) => {
      response.writeHead(200, { ...SOUND, 'content-length': '5000' });
      response.write(body.slice(0, 1200), () => response.destroy());
    });
    expect(failure.code).toBe('malformed');
  });

  test('C05b: JSON that is cut inside its second object is no data', async () => {
    const body =
      '[{"Node":"n1","CheckID":"c1","Status":"critical","ServiceID":"orders-1","ServiceName":"orders"},{"Node":"n1","CheckID":"c2","Sta';
    const failure = await failureOf((response) => response.writeHead(200, SOUND).end(body));
    expect(failure.code).toBe('malformed');
    expect(failure.message).not.toContain('orders-1');
  });

  test('C05: a gzip stream that is cut off is no data', async () => {
    const whole = gzipSync(JSON.stringify([rawCheck(), rawCheck({ CheckID: 'c2' })]));
    const failure = await failureOf((response) =>
      response.writeHead(200, { ...SOUND, 'content-encoding': 'gzip' }).end(whole.subarray(0, whole.length - 12)),
    );
    expect(failure.code).toBe('malformed');
  });

  test('one entry without a status makes the whole list malformed', async () => {
    const failure = await failureOf((response) => json(response, [rawCheck(), rawCheck({ Status: undefined })]));
    expect(failure.code).toBe('malformed');
    expect(failure.message).toContain('1.Status');
  });

  test.each(['null', '{}', '"x"', '[null]'])('%s is no list of checks', async (body) => {
    const failure = await failureOf((response) => response.writeHead(200, SOUND).end(body));
    expect(failure.code).toBe('malformed');
  });

  test('a redirect is never followed', async () => {
    const other = await serve((_request, response) => json(response, []));
    const server = await serve(
      (_request, response) =>
        void response.writeHead(307, { location: `${other.address}/v1/health/state/critical` }).end(),
    );
    await expect(readOnce(portFor([server.address]))).rejects.toMatchObject({ code: 'server-error' });
    expect(other.asked).toEqual([]);
  });

  test("a proxy's own 404 page does not mean that a key is gone", async () => {
    const failure = await failureOf(
      (response) => response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>Not found</h1>'),
      (port) => port.readKey('ecs-check-restart/policy').then(() => []),
    );
    expect(failure.code).toBe('server-error');
  });
});

test('a gzip answer is decoded', async () => {
  const server = await serve((request, response) => {
    expect(request.headers['accept-encoding']).toBe('gzip');
    response
      .writeHead(200, { ...SOUND, 'content-encoding': 'gzip' })
      .end(gzipSync(JSON.stringify([rawCheck({ CheckID: 'größe' })])));
  });
  const checks = await readOnce(portFor([server.address]));
  expect(checks.map((check) => check.checkId)).toEqual(['größe']);
});

test('a gzip error answer is readable in the message', async () => {
  const failure = await failureOf((response) =>
    response.writeHead(500, { 'content-type': 'text/plain', 'content-encoding': 'gzip' }).end(gzipSync('disk is full')),
  );
  expect(failure.message).toContain('disk is full');
});

test('a small answer that unpacks to more than we would hold is no data', async () => {
  const bomb = gzipSync(`[${' '.repeat(70_000_000)}]`);
  const failure = await failureOf((response) =>
    response.writeHead(200, { ...SOUND, 'content-encoding': 'gzip' }).end(bomb),
  );
  expect(failure.code).toBe('malformed');
});
