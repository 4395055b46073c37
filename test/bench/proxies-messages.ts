/** What the bench of proxies and its child process say to each other. */

/** To the child, as JSON. */
export type ProxiesTask = {
  /** The function's variables. */
  readonly environment: Readonly<Record<string, string>>;
  readonly proxies: number;
} & (
  | { readonly kind: 'settle' | 'burst' }
  /** Syncs that find nothing to do. */
  | { readonly kind: 'idle'; readonly syncs: number }
);

/** From the child. */
export interface ProxiesMeasured {
  /** Of each sync, the first one with the making of all clients. */
  readonly tookMs: readonly number[];
  readonly peakMb: number;
}
