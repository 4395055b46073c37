/** Documents that lead somewhere: every link and anchor resolves, and nothing of the machine they were written on is in them. */
import { existsSync } from 'node:fs';
import { posix } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { anchorsOf, DOCUMENTS, proseOf, ROOT, textOf } from './documents.ts';

const LINKS = DOCUMENTS.flatMap((document) =>
  [...proseOf(document).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => [document, target] as const),
);

describe('links', () => {
  it('are found', () => expect(LINKS.length).toBeGreaterThan(40));

  test.each(LINKS)('%s → %s', (document, target) => {
    if (/^https:\/\//.test(target)) return expect(URL.canParse(target)).toBe(true);
    const [path = '', anchor] = target.split('#');
    const file = path === '' ? document : posix.join(posix.dirname(document), path);
    expect(existsSync(`${ROOT}${file}`), `${file} is there`).toBe(true);
    if (anchor !== undefined) expect(anchorsOf(file)).toContain(anchor);
  });

  it('lead from the README to every document', () => {
    const linked = LINKS.filter(([document]) => document === 'README.md').map(([, target]) => target.split('#')[0]);
    expect(DOCUMENTS.filter((document) => document !== 'README.md' && !linked.includes(document))).toEqual([]);
  });
});

describe('the README', () => {
  it('has the sections that messages and other files name', () => {
    const named = ['Try a policy', 'Proxies', 'Consul ACL policy', 'VPC endpoints', 'Settings'];
    const headings = [...proseOf('README.md').matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading);
    expect(headings).toEqual(expect.arrayContaining(named));
  });

  it('is short enough to be read', () => expect(textOf('README.md').split('\n').length).toBeLessThanOrEqual(530));
});

test.each(DOCUMENTS)('%s names no folder of a machine', (document) => {
  expect(textOf(document)).not.toMatch(/(?:^|[\s(`'"=])\/(?:home|root|work|tmp|var|Users)\//m);
});
