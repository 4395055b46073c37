/** A token bucket as a value: who sends takes a token, and may have to wait for it. */

/** Shape of a bucket. */
export interface BucketLimits {
  /** Tokens of a full bucket: that many may be taken at once. */
  readonly capacity: number;
  readonly perSecond: number;
}

/** A bucket at an instant; `tokens` below zero are promised already. */
export interface TokenBucket {
  readonly limits: BucketLimits;
  readonly tokens: number;
  readonly atMs: number;
}

/** A full bucket. */
export function fullBucket(limits: BucketLimits, nowMs: number): TokenBucket {
  return { limits, tokens: limits.capacity, atMs: nowMs };
}

/** The bucket without the token, and how long its taker has to wait. A clock that goes backwards refills nothing. */
export function takeToken(
  bucket: TokenBucket,
  nowMs: number,
): { readonly bucket: TokenBucket; readonly waitMs: number } {
  const { limits } = bucket;
  const refill = (Math.max(nowMs - bucket.atMs, 0) * limits.perSecond) / 1000;
  const tokens = Math.min(bucket.tokens + refill, limits.capacity) - 1;
  return { bucket: { limits, tokens, atMs: nowMs }, waitMs: tokens >= 0 ? 0 : (-tokens * 1000) / limits.perSecond };
}
