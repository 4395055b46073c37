/** The functions' log lines, read back: the story tells from them what the watcher decided. */
import * as z from 'zod/mini';

const logLine = z.object({
  level: z.string(),
  message: z.string(),
  code: z.string(),
  detail: z.exactOptional(
    z.object({
      service: z.exactOptional(z.string()),
      task: z.exactOptional(z.string()),
      check: z.exactOptional(z.string()),
      reason: z.exactOptional(z.string()),
      why: z.exactOptional(z.string()),
      problem: z.exactOptional(z.string()),
      message: z.exactOptional(z.string()),
      untilMs: z.exactOptional(z.number()),
    }),
  ),
});

/** A line with a code of `lib/event-codes.ts`. */
export type LogLine = z.infer<typeof logLine>;

/** `undefined` for what is no such line: metrics, warnings of a library. */
export function parseLogLine(line: string): LogLine | undefined {
  try {
    return logLine.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}
