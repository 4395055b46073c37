import { describe, expect, it } from 'vitest';
import { nameLooksSecret, secretWords, valueLooksSecret } from '../../lib/proxies/secret.ts';

describe('a name', () => {
  it.each([
    'DB_PASSWORD',
    'token',
    'CONSUL_HTTP_TOKEN',
    'apiKey',
    'api-key',
    'AWS_SECRET_ACCESS_KEY',
    'dbPassword',
    '--auth.token',
    'PRIVATE_KEY',
  ])('%s looks like a secret', (name) => expect(nameLooksSecret(name)).toBe(true));

  it.each([
    'TOKEN_FILE',
    'CONSUL_HTTP_TOKEN_FILE',
    'SECRET_ARN',
    'KEYBOARD',
    'TOKENIZER',
    'LOG_LEVEL',
    'PASSTHROUGH',
    'PRIMARY_KEY',
  ])('%s does not', (name) => expect(nameLooksSecret(name)).toBe(false));
});

describe('a value', () => {
  it.each([
    ['a private key', '-----BEGIN RSA PRIVATE KEY-----\nabc'],
    ['an access key ID', 'AKIAABCDEFGHIJKLMNOP'],
    ['an address with credentials', 'https://user:pass@example.com/'],
    ['a Vault token', 'hvs.CAESIJabcdefghijklmnop'],
  ])('%s looks like a secret', (_name, value) => expect(valueLooksSecret(value)).toBe(true));

  it.each(['debug', 'https://example.com:8500/v1', 'arn:aws:ecs:eu-west-1:123456789012:cluster/prod'])(
    '%s does not',
    (value) => expect(valueLooksSecret(value)).toBe(false),
  );
});

describe('a command', () => {
  it.each<[string, string[], number[]]>([
    ['with a flag and its value in one word', ['envoy', '--token=abc'], [1]],
    ['with a flag and its value in two', ['envoy', '--token', 'abc'], [2]],
    ['with a variable', ['env', 'DB_PASSWORD=abc', 'envoy'], [1]],
    ['with a file', ['envoy', '--token-file', '/run/token', '--token-file=/run/x'], []],
    ['with a flag alone', ['envoy', '--token', '--debug'], []],
  ])('%s', (_name, command, words) => expect(secretWords(command)).toEqual(words));
});
