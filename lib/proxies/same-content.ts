/**
 * Whether two values would be stored as the same item: fields in any order, one that is `undefined` as good as absent. In
 * a pass with nothing to do this is asked of every proxy; writing both out as text to compare them would be a quarter of
 * all the memory that a reconcile of a thousand proxies goes through.
 */

/** Of values as JSON has them. */
export function sameContent(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (Array.isArray(one) || Array.isArray(other)) return isSameList(one, other);
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  for (const key of Object.keys(one)) {
    if (!sameContent(fieldOf(one, key), fieldOf(other, key))) return false;
  }
  return Object.keys(other).every((key) => Object.hasOwn(one, key) || fieldOf(other, key) === undefined);
}

function isSameList(one: unknown, other: unknown): boolean {
  if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false;
  return one.every((item, index) => sameContent(item, other[index]));
}

function fieldOf(value: object, key: string): unknown {
  return Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined;
}
