/** The reason that a stopped task carries, for people who look at it in ECS. */

/** Longest reason that every version of the ECS API has taken, in UTF-16 units. */
const MAX_LENGTH = 255;
const BEFORE = 'healthcheck: check "';
const AFTER = '" unhealthy';
const CUT = '…';

/**
 * `healthcheck: check "NAME" unhealthy`, at most 255 UTF-16 units. A name that is too long is cut and ends in `…`, never
 * within a surrogate pair; the words around it stay whole. Control characters, line separators and lone surrogates,
 * which Consul lets into a name, are replaced by a space.
 */
export function stopReason(checkName: string): string {
  const name = checkName.replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/gu, ' ');
  const room = MAX_LENGTH - BEFORE.length - AFTER.length;
  return `${BEFORE}${name.length <= room ? name : shorten(name, room - CUT.length) + CUT}${AFTER}`;
}

function shorten(name: string, length: number): string {
  const cut = name.slice(0, length);
  return /[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut;
}
