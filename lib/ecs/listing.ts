/** Listings, page by page to their end: without the end nothing may be concluded from what is not in them (C35). */
import { ListServicesCommand, ListTasksCommand } from '@aws-sdk/client-ecs';
import { abort, type Calls, notAnswered } from './calls.ts';
import { readFailure } from './failures.ts';

/** Largest page that the API gives. */
const PAGE = 100;
/** A listing of 100,000; more is taken for one that never ends. */
const MAX_PAGES = 1000;

/** ListTasks: those that ECS wants RUNNING (the API's default), by service, by starter, or all of the cluster. */
export async function listTasks(
  calls: Calls,
  cluster: string,
  filter: { readonly service?: string; readonly startedBy?: string },
): Promise<readonly string[]> {
  const list = (by: { serviceName?: string; startedBy?: string }) =>
    pages('ListTasks', async (nextToken) => {
      const request = { cluster, ...by, maxResults: PAGE, ...(nextToken ? { nextToken } : {}) };
      const answer = await calls.client.send(new ListTasksCommand(request), abort(calls));
      return { items: answer.taskArns ?? [], nextToken: answer.nextToken };
    });
  if (filter.service === undefined) return list(filter.startedBy === undefined ? {} : { startedBy: filter.startedBy });
  const ofService = await list({ serviceName: filter.service });
  if (filter.startedBy === undefined) return ofService;
  // ECS takes no other filter beside startedBy.
  const ofStarter = new Set(await list({ startedBy: filter.startedBy }));
  return ofService.filter((arn) => ofStarter.has(arn));
}

/** ListServices. */
export function listServices(calls: Calls, cluster: string): Promise<readonly string[]> {
  return pages('ListServices', async (nextToken) => {
    const request = { cluster, maxResults: PAGE, ...(nextToken ? { nextToken } : {}) };
    const answer = await calls.client.send(new ListServicesCommand(request), abort(calls));
    return { items: answer.serviceArns ?? [], nextToken: answer.nextToken };
  });
}

/** All pages, also those behind an empty one. A listing without an end, or one that breaks off, is no listing (C35). */
async function pages(
  operation: string,
  ask: (nextToken: string | undefined) => Promise<{ items: readonly string[]; nextToken: string | undefined }>,
): Promise<readonly string[]> {
  const items = new Set<string>();
  const tokens = new Set<string>();
  let token: string | undefined;
  for (let number = 1; number <= MAX_PAGES; number += 1) {
    const page = await ask(token).catch((error: unknown) => {
      const failure = readFailure(operation, error);
      throw number === 1 ? failure : notAnswered(`page ${number}: ${failure.message}`);
    });
    for (const item of page.items) items.add(item);
    if (!page.nextToken) return [...items];
    if (tokens.has(page.nextToken)) throw notAnswered(`${operation}: the same page again after ${number} pages`);
    tokens.add(page.nextToken);
    token = page.nextToken;
  }
  throw notAnswered(`${operation}: more than ${MAX_PAGES} pages`);
}
