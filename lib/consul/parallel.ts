/** Runs a task for each item, at most `width` at a time. The first failure is thrown and aborts the rest. */
export async function forEachParallel<Item>(
  items: readonly Item[],
  width: number,
  task: (item: Item, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const queue = items.values();
  const abort = new AbortController();
  let failed: { readonly error: unknown } | undefined;
  const worker = async () => {
    for (const item of queue) {
      if (failed !== undefined) return;
      try {
        await task(item, abort.signal);
      } catch (error) {
        failed ??= { error };
        abort.abort();
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, worker));
  if (failed !== undefined) throw failed.error;
}
