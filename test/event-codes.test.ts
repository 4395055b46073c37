import { expect, test } from 'vitest';
import { EVENT_CODES, METRICS } from '../lib/event-codes.ts';

test.each(Object.entries(EVENT_CODES))('code %s: kebab-case, one line, no debug line with an alarm', (code, entry) => {
  expect(code).toMatch(/^[a-z]+(?:-[a-z]+)*$/);
  expect(entry.meaning).toMatch(/^[A-Z].{10,90}[^.]$/);
  expect(['info', 'warn', 'error']).toContain(entry.level);
});

test('every error has an alarm, and only errors have', () => {
  const entries = Object.entries(EVENT_CODES);
  const alarms = entries.filter(([, entry]) => entry.alarm).map(([code]) => code);
  const errors = entries.filter(([, entry]) => entry.level === 'error').map(([code]) => code);
  expect(alarms).toEqual(errors);
});

test.each(Object.keys(METRICS))('metric %s has a name as CloudWatch shows it', (metric) => {
  expect(metric).toMatch(/^[A-Z][A-Za-z]{2,60}$/);
});
