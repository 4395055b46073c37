/** Names of things in one account and region, in the long form and, on demand, the short one. */
import { createHash } from 'node:crypto';

/** Makes ARNs, IDs and addresses, the same ones in every run. */
export class Names {
  readonly region: string;
  readonly account: string;
  readonly #prefix: string;
  readonly #shortArns: boolean;
  readonly #seed: string;
  #count = 0;

  constructor(options: { region: string; account: string; partition: string; shortArns: boolean; seed: string }) {
    this.region = options.region;
    this.account = options.account;
    this.#shortArns = options.shortArns;
    this.#seed = options.seed;
    this.#prefix = `arn:${options.partition}:ecs:${options.region}:${options.account}`;
  }

  clusterArn(cluster: string): string {
    return `${this.#prefix}:cluster/${cluster}`;
  }

  taskArn(cluster: string, id: string): string {
    return `${this.#prefix}:task/${this.#inCluster(cluster, id)}`;
  }

  serviceArn(cluster: string, name: string): string {
    return `${this.#prefix}:service/${this.#inCluster(cluster, name)}`;
  }

  taskDefinitionArn(family: string, revision: number): string {
    return `${this.#prefix}:task-definition/${family}:${revision}`;
  }

  containerArn(cluster: string, id: string): string {
    return `${this.#prefix}:container/${this.#inCluster(cluster, id)}`;
  }

  /** 32 hexadecimal digits; a UUID where ARNs are short, as with tasks of that time. */
  taskId(): string {
    const digits = this.hex();
    return this.#shortArns ? digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5') : digits;
  }

  /** 32 hexadecimal digits that did not occur before. */
  hex(): string {
    this.#count += 1;
    return createHash('md5').update(`${this.#seed}/${this.#count}`).digest('hex');
  }

  /** As deployments and task sets are called: nineteen digits. */
  deploymentId(): string {
    const number = BigInt(`0x${this.hex().slice(0, 15)}`)
      .toString()
      .padStart(19, '0');
    return `ecs-svc/${number.slice(-19)}`;
  }

  /** A private address. */
  address(): string {
    this.#count += 1;
    return `10.${(this.#count >> 16) & 255}.${(this.#count >> 8) & 255}.${this.#count & 255}`;
  }

  #inCluster(cluster: string, name: string): string {
    return this.#shortArns ? name : `${cluster}/${name}`;
  }
}
