import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyGlobMatches, globMatches } from '../../lib/check-restart/glob.ts';

describe('a glob', () => {
  it.each<[string, string, boolean]>([
    ['web', 'web', true],
    ['web', 'web-1', false],
    ['web', 'my-web', false],
    ['web', 'WEB', false],
    ['', '', true],
    ['', 'web', false],
    ['*', '', true],
    ['*', 'anything at all', true],
    ['**', '', true],
    ['web*', 'web', true],
    ['web*', 'web-1', true],
    ['web*', 'we', false],
    ['*web', 'my-web', true],
    ['*web', 'web-1', false],
    ['w*b', 'wb', true],
    ['w*b', 'web and bob', true],
    ['w*b', 'web-1', false],
    ['*a*b*', 'xxaxxbxx', true],
    ['*a*b*', 'xxbxxaxx', false],
    ['a*ab', 'aab', true],
    ['a*ab', 'ab', false],
    ['*ab*abc', 'ababcabc', true],
    ['web*api**', 'web-api', true],
    ['?', '', false],
    ['?', 'w', true],
    ['?', 'we', false],
    ['w?b', 'web', true],
    ['w?b', 'wb', false],
    ['web-?', 'web-', false],
    ['?*', '', false],
    ['?*', 'w', true],
    ['*?', 'w', true],
    ['*?', '', false],
    ['*??b', 'web', true],
    ['*??b', 'eb', false],
  ])('%j on %j: %s', (glob, text, expected) => {
    expect(globMatches(glob, text)).toBe(expected);
  });
});

describe('what means something in a regular expression means itself', () => {
  it.each(['.', '+', '(a|b)', '[a-z]', '{2}', '^a$', '\\d', '\\', '[', '(', '/', '-', '$&', 'a{1,}'])('%j', (text) => {
    expect(globMatches(text, text)).toBe(true);
    expect(globMatches(`x${text}*`, `x${text}y`)).toBe(true);
  });

  it.each<[string, string]>([
    ['w.b', 'web'],
    ['web+', 'webb'],
    ['(a|b)', 'a'],
    ['[a-z]', 'e'],
    ['a{2}', 'aa'],
    ['^a', 'a'],
    ['\\d', '7'],
    ['a\\*', 'a*'],
    ['a|b', 'b'],
  ])('%j does not match %j', (glob, text) => {
    expect(globMatches(glob, text)).toBe(false);
  });
});

describe('every character is a character', () => {
  it.each<[string, string, boolean]>([
    ['a*b', 'a\nb', true],
    ['a?b', 'a\nb', true],
    ['web', 'web\n', false],
    ['a?b', 'a\u2028b', true],
    ['?', '🔥', true],
    ['??', '🔥', false],
    ['*🔥', 'warm🔥', true],
    ['größe-*', 'größe-1', true],
    ['?', 'e\u0301', false],
    ['?', '\ud83d', true],
    ['注*', '注文', true],
  ])('%j on %j: %s', (glob, text, expected) => {
    expect(globMatches(glob, text)).toBe(expected);
  });
});

describe('hostile texts', () => {
  it.each<[string, string, string]>([
    ['many stars', '*a'.repeat(30), `${'a'.repeat(5000)}b`],
    ['many stars with an end that is missing', `${'*a'.repeat(1000)}*b`, 'a'.repeat(5000)],
    ['stars and question marks', `${'*?'.repeat(1000)}b`, 'a'.repeat(5000)],
    ['a long piece that nearly matches', `*${'a'.repeat(2000)}b`, 'a'.repeat(4000)],
    ['stars only', `${'*'.repeat(20_000)}b`, 'a'.repeat(20_000)],
  ])('%s do not take long', (_, glob, text) => {
    const started = performance.now();
    expect(globMatches(glob, text)).toBe(false);
    expect(performance.now() - started).toBeLessThan(1000);
  });
});

/** The definition, word by word; only for short texts. */
function matchesByDefinition(glob: readonly string[], text: readonly string[]): boolean {
  const [first, ...rest] = glob;
  if (first === undefined) return text.length === 0;
  if (first === '*')
    return text.some((_, at) => matchesByDefinition(rest, text.slice(at))) || matchesByDefinition(rest, []);
  const [character, ...others] = text;
  return character !== undefined && (first === '?' || first === character) && matchesByDefinition(rest, others);
}

describe('properties of globs', () => {
  it('a glob matches what its definition says', () => {
    const glob = fc.array(fc.constantFrom('a', 'b', '*', '?'), { maxLength: 7 });
    const text = fc.array(fc.constantFrom('a', 'b', '🔥'), { maxLength: 8 });
    fc.assert(
      fc.property(glob, text, (pattern, characters) => {
        expect(globMatches(pattern.join(''), characters.join(''))).toBe(matchesByDefinition(pattern, characters));
      }),
      { numRuns: 3000 },
    );
  });

  it('any text without wildcards matches itself and nothing longer', () => {
    const text = fc.string({ unit: 'binary', maxLength: 30 }).filter((value) => !/[*?]/.test(value));
    fc.assert(
      fc.property(text, (value) => {
        expect(globMatches(value, value)).toBe(true);
        expect(globMatches(value, `${value}x`)).toBe(false);
      }),
    );
  });
});

describe('a list of globs', () => {
  it('matches nothing when it is empty', () => {
    expect(anyGlobMatches([], '')).toBe(false);
    expect(anyGlobMatches([], 'web')).toBe(false);
  });

  it.each<[string, boolean]>([
    ['web-1', true],
    ['api', true],
    ['db', false],
  ])('%s: %s by one of two', (text, expected) => {
    expect(anyGlobMatches(['web-*', 'api'], text)).toBe(expected);
  });
});
