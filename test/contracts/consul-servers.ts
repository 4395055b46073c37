/**
 * The Consuls that the contract suite runs against: the double, and a real one. In CI the real one must be there;
 * elsewhere the names of the suites say what was tested, and a line says why if only the double was.
 */
import type { TokenRights } from '../../infra/local/consul-double/acl.ts';
import { startConsulDouble } from '../../infra/local/consul-double/double.ts';
import { findConsul, startRealConsul } from '../../infra/local/real-consul.ts';

/** A Consul that runs, empty but for its own node `local`. */
export interface RunningConsul {
  readonly url: string;
  /** With ACLs: may do everything; may read everything and keys below `shown/`; may do nothing. */
  readonly tokens?: { readonly management: string; readonly reader: string; readonly weak: string };
  /** With ACLs: a token that may read what begins with one of these texts, and nothing else. */
  readonly createToken?: (rights: Readable) => Promise<string>;
  close(): Promise<void>;
}

/** What a token may read, by the beginnings of names. */
export interface Readable {
  readonly services: readonly string[];
  readonly nodes: readonly string[];
  readonly keys: readonly string[];
}

/** One implementation. `exact` = its answers are to have the fields of 1.8 and no others. */
export interface ConsulUnderTest {
  readonly name: string;
  readonly exact: boolean;
  start(options?: { readonly acl?: boolean }): Promise<RunningConsul>;
}

const DOUBLE: ConsulUnderTest = {
  name: 'the double',
  exact: true,
  async start({ acl = false } = {}) {
    if (!acl) return startConsulDouble();
    const tokens = { management: 'token-m', reader: 'token-r', weak: 'token-w' };
    const reader = { services: /^/, nodes: /^/, keys: /^shown\// };
    const rights: Record<string, TokenRights> = { 'token-m': 'write', 'token-r': reader, 'token-w': 'none' };
    const double = await startConsulDouble({ tokens: rights });
    const createToken = async ({ services, nodes, keys }: Readable) => {
      const token = `token-${Object.keys(rights).length}`;
      rights[token] = { services: startsWith(services), nodes: startsWith(nodes), keys: startsWith(keys) };
      return token;
    };
    return { url: double.url, tokens, createToken, close: () => double.close() };
  },
};

function startsWith(names: readonly string[]): RegExp {
  return names.length === 0 ? /(?!)/ : new RegExp(`^(?:${names.map((name) => escaped(name)).join('|')})`);
}

function escaped(name: string): string {
  return name.replace(/[^A-Za-z0-9]/g, '\\$&');
}

function rulesOf({ services, nodes, keys }: Readable): string {
  const rules = { service_prefix: services, node_prefix: nodes, key_prefix: keys };
  const lines = Object.entries(rules).flatMap(([kind, names]) =>
    names.map((name) => `${kind} ${JSON.stringify(name)} { policy = "read" }`),
  );
  // A token needs some rule.
  return [...lines, 'key_prefix "nothing/" { policy = "read" }'].join('\n');
}

const READER_RULES =
  'node_prefix "" { policy = "read" } service_prefix "" { policy = "read" } key_prefix "shown/" { policy = "read" }';

/** The double, and a real Consul if there is one. Throws in CI if there is none. */
export async function consulServers(): Promise<readonly ConsulUnderTest[]> {
  const problems: string[] = [];
  const found = await findConsul({ fetch: true, onProblem: (problem) => problems.push(problem) });
  if (!found) {
    const why = `no real Consul: ${problems.join('; ')}`;
    if (process.env.CI && process.env.CI !== 'false') throw new Error(why);
    process.stdout.write(`${why}\nThe contract suite runs against the double only.\n`);
    return [DOUBLE];
  }
  const real: ConsulUnderTest = {
    name: `real Consul ${found.version} (${found.how})`,
    exact: found.version.startsWith('1.8.'),
    async start({ acl = false } = {}) {
      const consul = await startRealConsul(found.path, { acl });
      const close = () => consul.close();
      if (consul.token === undefined) return { url: consul.url, close };
      const reader = await consul.createToken(READER_RULES);
      const weak = await consul.createToken('key_prefix "nothing/" { policy = "read" }');
      const createToken = (rights: Readable) => consul.createToken(rulesOf(rights));
      return { url: consul.url, tokens: { management: consul.token, reader, weak }, createToken, close };
    },
  };
  return [DOUBLE, real];
}
