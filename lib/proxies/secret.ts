/**
 * Secrets never travel through overrides: they would be readable in DescribeTasks, in Consul and in our own state. They
 * come from the task definition. Whether a text is a secret cannot be known; what looks like one is refused, and a
 * setting that names a place (a file, an ARN) is fine.
 */

const SECRET_WORD =
  /(?:^|[_\-.])(?:secret|secrets|token|tokens|password|passwd|passphrase|pwd|credential|credentials|private[_\-.]?key|api[_\-.]?key|access[_\-.]?key|secret[_\-.]?key|auth[_\-.]?key|apikey|accesskey|secretkey)(?:$|[_\-.])/i;
const NAMES_A_PLACE = /[_\-.](?:file|path|dir|arn|url|uri|endpoint|name|header)$/i;
const SECRET_VALUE = [
  /-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----/, // PEM
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/, // AWS access key IDs
  /\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}/, // JSON web tokens
  /\bhv[sbr]\.[\w-]{20,}/, // Vault tokens
  /\/\/[^/\s:@]+:[^/\s@]+@/, // addresses with credentials
];

/** Said in a problem. */
export const NO_SECRETS = 'no secrets in overrides: use `secrets` of the task definition';

/** True for a name of a variable or flag that seems to hold a secret: `DB_PASSWORD`, `--api-key`; not `TOKEN_FILE`. */
export function nameLooksSecret(name: string): boolean {
  // camelCase is taken apart, so that `dbPassword` is seen.
  const words = name.replace(/^-+/, '').replace(/([a-z0-9])([A-Z])/g, '$1_$2');
  return SECRET_WORD.test(words) && !NAMES_A_PLACE.test(words);
}

/** True for a value of a well-known secret's shape. */
export function valueLooksSecret(value: string): boolean {
  return SECRET_VALUE.some((shape) => shape.test(value));
}

/** Indices of the command's words that seem to carry a secret: `--token=abc`, or the word that follows `--token`. */
export function secretWords(command: readonly string[]): readonly number[] {
  const found: number[] = [];
  command.forEach((word, index) => {
    const flag = /^(--?[\w.-]+)=./s.exec(word)?.[1] ?? /^([A-Za-z_]\w*)=./s.exec(word)?.[1];
    const before = command[index - 1] ?? '';
    const valueOfFlag = /^--?[\w.-]+$/.test(before) && nameLooksSecret(before) && !word.startsWith('-');
    if ((flag !== undefined && nameLooksSecret(flag)) || valueOfFlag || valueLooksSecret(word)) found.push(index);
  });
  return found;
}
