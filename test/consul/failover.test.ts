import { expect, test } from 'vitest';
import { deadAddress, json, jumpingClock, portFor, rawCheck, readOnce, type Script, serve } from './scripted-server.ts';

const healthy: Script = (_request, response) => json(response, [rawCheck()]);
const tooMany: Script = (_request, response) => void response.writeHead(429, { 'content-length': '0' }).end();
const broken: Script = (_request, response) => void response.writeHead(503).end('try later');
const silent: Script = () => undefined;

test('C06: 429 is an error after at most three requests, with a growing, jittered pause between them', async () => {
  for (const random of [0, 0.5, 0.999]) {
    const server = await serve(tooMany);
    const clock = jumpingClock();
    const port = portFor([server.address], { clock, random: () => random });
    await expect(readOnce(port)).rejects.toMatchObject({ code: 'rate-limited' });
    expect(server.asked).toHaveLength(3);
    const [first = 0, second = 0] = clock.pausesMs;
    expect(clock.pausesMs).toHaveLength(2);
    expect(first).toBe(125 + 125 * random);
    expect(second).toBeGreaterThan(first);
  }
});

test('C06: two failed passes, then normal work', async () => {
  const server = await serve((request, response, count) => {
    if (count <= 3) return tooMany(request, response, count);
    if (count <= 6) return void response.writeHead(429).end('slow down');
    return healthy(request, response, count);
  });
  const port = portFor([server.address], { clock: jumpingClock() });
  await expect(readOnce(port)).rejects.toMatchObject({ code: 'rate-limited' });
  await expect(readOnce(port)).rejects.toThrow('slow down');
  await expect(readOnce(port)).resolves.toHaveLength(1);
});

test('C06: no pause is begun that the budget does not hold', async () => {
  const server = await serve(tooMany);
  const clock = jumpingClock();
  await expect(readOnce(portFor([server.address], { clock, requestTimeoutMs: 100 }))).rejects.toMatchObject({
    code: 'rate-limited',
  });
  expect(server.asked).toHaveLength(1);
  expect(clock.pausesMs).toEqual([]);
});

test.each([
  ['429', tooMany],
  ['503', broken],
  ['no leader', ((_request, response) => json(response, [], { 'x-consul-knownleader': 'false' })) satisfies Script],
])('C06: with several addresses the next one is asked at once, and stays in use (%s)', async (_name, script) => {
  const bad = await serve(script);
  const good = await serve(healthy);
  const clock = jumpingClock();
  const port = portFor([bad.address, good.address], { clock });
  await expect(readOnce(port)).resolves.toHaveLength(1);
  await expect(readOnce(port)).resolves.toHaveLength(1);
  expect(bad.asked).toHaveLength(1);
  expect(good.asked).toHaveLength(2);
  expect(clock.pausesMs).toEqual([]);
});

test('a refused connection is left for the next address', async () => {
  const good = await serve(healthy);
  await expect(readOnce(portFor([await deadAddress(), good.address]))).resolves.toHaveLength(1);
});

test('every one of many addresses is tried before a read fails', async () => {
  const dead = await Promise.all([deadAddress(), deadAddress(), deadAddress(), deadAddress()]);
  const good = await serve(healthy);
  await expect(readOnce(portFor([...dead, good.address]))).resolves.toHaveLength(1);
});

test('nobody listens: unreachable', async () => {
  const port = portFor([await deadAddress()], { clock: jumpingClock() });
  await expect(readOnce(port)).rejects.toMatchObject({ code: 'unreachable', message: /ECONNREFUSED/ });
});

test('C07: a server that never answers ends the read by our own deadline, and the next pass works', async () => {
  const server = await serve((request, response, count) =>
    count === 1 ? silent(request, response, count) : healthy(request, response, count),
  );
  const port = portFor([server.address], { requestTimeoutMs: 200 });
  const beganMs = Date.now();
  await expect(readOnce(port)).rejects.toMatchObject({ code: 'timeout', message: /no answer from Consul/ });
  expect(Date.now() - beganMs).toBeLessThan(1000);
  await expect(readOnce(port)).resolves.toHaveLength(1);
});

test('C07: a body that never ends, too', async () => {
  const server = await serve((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('[');
  });
  await expect(readOnce(portFor([server.address], { requestTimeoutMs: 200 }))).rejects.toMatchObject({
    code: 'timeout',
  });
});

test('a server that never answers leaves time for the others within the budget', async () => {
  const bad = await serve(silent);
  const good = await serve(healthy);
  const port = portFor([bad.address, good.address], { requestTimeoutMs: 600 });
  const beganMs = Date.now();
  await expect(readOnce(port)).resolves.toHaveLength(1);
  expect(Date.now() - beganMs).toBeLessThan(600);
});

test('a silent server costs every address its share and never more than the budget; the next read goes on from there', async () => {
  const silents = await Promise.all([serve(silent), serve(silent), serve(silent)]);
  const good = await serve(healthy);
  const port = portFor([...silents.map(({ address }) => address), good.address], { requestTimeoutMs: 300 });
  const beganMs = Date.now();
  await expect(readOnce(port)).rejects.toMatchObject({ code: 'timeout', message: /after 3 tries/ });
  expect(Date.now() - beganMs).toBeLessThan(600);
  await expect(readOnce(port)).resolves.toHaveLength(1);
});

test('a server that accepts and never answers a blocking query keeps a window no longer than to its next deadline', async () => {
  const server = await serve((request, response, count) =>
    request.url?.includes('index=') ? silent(request, response, count) : healthy(request, response, count),
  );
  const watch = portFor([server.address]).watchUnhealthy({ warnings: false });
  const signal = new AbortController().signal;
  await watch.read(signal);
  const beganMs = Date.now();
  await expect(watch.change(beganMs + 200, signal)).resolves.toBeUndefined();
  expect(Date.now() - beganMs).toBeLessThan(1000);
  await expect(watch.read(signal)).resolves.toMatchObject({ checks: [{ checkId: 'c1' }] });
  await watch.close();
});

test('pauses after a round of all addresses, jittered, and none within it', async () => {
  const servers = await Promise.all([serve(broken), serve(tooMany)]);
  const clock = jumpingClock();
  const port = portFor(
    servers.map(({ address }) => address),
    { clock, random: () => 0.5 },
  );
  await expect(readOnce(port)).rejects.toMatchObject({ message: /after 3 tries/ });
  expect(servers.map(({ asked }) => asked.length)).toEqual([2, 1]);
  expect(clock.pausesMs).toEqual([187.5]);
});

test('hundreds of requests to a slow server end together, at twice the budget of one', async () => {
  const slow = await serve((_request, response) => void setTimeout(() => json(response, []), 100));
  const port = portFor([slow.address], { requestTimeoutMs: 200 });
  const refs = Array.from({ length: 400 }, (_, index) => ({
    node: 'n1',
    serviceId: 'x',
    serviceName: `service-${index}`,
    namespace: '',
    partition: '',
  }));
  for (const read of [
    () => port.describeInstances(refs),
    () => port.lookUpChecks(refs.map((ref) => ({ ...ref, checkId: 'c' }))),
  ]) {
    const beganMs = Date.now();
    await expect(read()).rejects.toMatchObject({ system: 'consul', code: 'timeout' });
    expect(Date.now() - beganMs).toBeLessThan(1000);
  }
  expect(slow.asked.length).toBeLessThan(100);
});

test('parallel requests leave a bad server together, not one address further each', async () => {
  const bad = await serve(broken);
  const good = await serve((request, response) =>
    json(response, [
      { Node: 'n1', ServiceID: 'x', ServiceName: decodeURIComponent(request.url?.split(/[/?]/)[4] ?? '') },
    ]),
  );
  const port = portFor([bad.address, good.address], { clock: jumpingClock() });
  const refs = Array.from({ length: 6 }, (_, index) => ({
    node: 'n1',
    serviceId: 'x',
    serviceName: `service-${index}`,
    namespace: '',
    partition: '',
  }));
  await port.describeInstances(refs);
  expect(good.asked).toHaveLength(6);
});

test('other 4xx are final', async () => {
  const server = await serve((_request, response) => void response.writeHead(400).end('Invalid filter'));
  await expect(readOnce(portFor([server.address]))).rejects.toMatchObject({ code: 'server-error' });
  expect(server.asked).toHaveLength(1);
});

test('a 403 that a fresh token mends does not use up a try', async () => {
  const server = await serve((request, response, count) =>
    count === 1 ? void response.writeHead(403).end() : tooMany(request, response, count),
  );
  await expect(readOnce(portFor([server.address], { clock: jumpingClock() }))).rejects.toMatchObject({
    code: 'rate-limited',
    message: /after 3 tries/,
  });
  expect(server.asked).toHaveLength(4);
});

test('a read whose caller has given up already asks nobody', async () => {
  const server = await serve(silent);
  const watch = portFor([server.address]).watchUnhealthy({ warnings: false });
  await expect(watch.read(AbortSignal.abort())).rejects.toMatchObject({ code: 'timeout', message: /given up/ });
  expect(server.asked).toEqual([]);
});

test('a caller who gives up during a read is not kept waiting', async () => {
  const abort = new AbortController();
  const server = await serve(() => abort.abort());
  const watch = portFor([server.address]).watchUnhealthy({ warnings: false });
  await expect(watch.read(abort.signal)).rejects.toMatchObject({ code: 'timeout' });
  expect(server.asked).toHaveLength(1);
});
