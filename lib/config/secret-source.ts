/** Where a secret is to be had. Settings hold sources, never what they lead to; `secrets.ts` reads them. */

/** A secret that was given literally. It has no visible content: neither a log line, JSON nor `inspect` shows it. */
export class SecretText {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** The secret itself, to be handed to whatever uses it and to nothing else. */
  reveal(): string {
    return this.#text;
  }
}

/** `text` and `file` are for local use and for what is no secret (a CA's certificate). */
export type SecretSource =
  | { readonly from: 'text'; readonly secret: SecretText }
  | { readonly from: 'file'; readonly path: string }
  /** Name (with its leading slash, if any) or ARN of an SSM parameter. */
  | { readonly from: 'ssm'; readonly name: string }
  /** Name or ARN of a Secrets Manager secret, whose text as a whole is the value. */
  | { readonly from: 'secrets-manager'; readonly id: string };

/** Names a source in messages, without its content. */
export function describeSource(source: SecretSource): string {
  switch (source.from) {
    case 'text':
      return 'a literal value';
    case 'file':
      return `file ${source.path}`;
    case 'ssm':
      return `SSM parameter ${source.name}`;
    case 'secrets-manager':
      return `Secrets Manager secret ${source.id}`;
  }
}
