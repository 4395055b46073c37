import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stopReason } from '../../lib/check-restart/stop-reason.ts';

const HALF_PAIR = /\p{Cs}/u;
const CONTROL = /\p{Cc}/u;
const FRAME = /^healthcheck: check ".*" unhealthy$/s;

describe('the reason of a stop', () => {
  it('is what Nomad says', () => {
    expect(stopReason('Service "web" check')).toBe('healthcheck: check "Service "web" check" unhealthy');
  });

  it.each([100, 101])('C33: a name of %i letters, a newline and 249 flames is cut between two flames', (letters) => {
    const reason = stopReason(`${'A'.repeat(letters)}\n${'🔥'.repeat(249)}Z`);
    expect(reason.length).toBeLessThanOrEqual(255);
    expect(reason.length).toBeGreaterThanOrEqual(254);
    expect(reason).not.toMatch(CONTROL);
    expect(reason).not.toMatch(HALF_PAIR);
    expect(reason).toMatch(/^healthcheck: check "A+ 🔥+…" unhealthy$/u);
  });

  it('C33: the longest name that fits is left whole, one unit more is cut', () => {
    const room = 255 - 'healthcheck: check "" unhealthy'.length;
    expect(stopReason('n'.repeat(room))).toBe(`healthcheck: check "${'n'.repeat(room)}" unhealthy`);
    expect(stopReason('n'.repeat(room + 1))).toBe(`healthcheck: check "${'n'.repeat(room - 1)}…" unhealthy`);
  });

  it.each(['\u0000', '\t', '\r\n', '\u007f', '\u0085', '\u2028', '\u2029', '\ud83d', '\udd25'])(
    'C33: %j in a name becomes blank',
    (part) => {
      expect(stopReason(`a${part}b`)).toBe(`healthcheck: check "a${' '.repeat(part.length)}b" unhealthy`);
    },
  );

  it('C33: holds for whatever a name may be', () => {
    const unit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));
    const names = fc.oneof(fc.string({ unit, maxLength: 600 }), fc.string({ unit: 'grapheme', maxLength: 600 }));
    fc.assert(
      fc.property(names, (name) => {
        const reason = stopReason(name);
        expect(reason.length).toBeLessThanOrEqual(255);
        expect(reason).not.toMatch(CONTROL);
        expect(reason).not.toMatch(HALF_PAIR);
        expect(reason).toMatch(FRAME);
      }),
    );
  });
});
