/** What the stack itself asks of a Consul agent: what an entrypoint registers, and keys. Not the product's own client. */

/** Sends a PUT; throws with Consul's own words. */
export async function putToConsul(url: string, path: string, body?: unknown): Promise<void> {
  const payload = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) };
  const response = await fetch(`${url}/v1/${path}`, { method: 'PUT', ...payload });
  const answer = await response.text();
  if (!response.ok) throw new Error(`Consul answered ${response.status} to PUT ${path}: ${answer}`);
}

/** Sends a DELETE; throws with Consul's own words. */
export async function deleteFromConsul(url: string, path: string): Promise<void> {
  const response = await fetch(`${url}/v1/${path}`, { method: 'DELETE' });
  const answer = await response.text();
  if (!response.ok) throw new Error(`Consul answered ${response.status} to DELETE ${path}: ${answer}`);
}

/** An ID as a segment of a path. */
export function segment(id: string): string {
  return encodeURIComponent(id);
}
