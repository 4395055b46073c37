/** What `npm start` may be told. */
import { parseArgs } from 'node:util';
import { notAllowed } from '../../../lib/config/problem.ts';
import { CONSUL_CHOICES, type ConsulChoice } from './local-consul.ts';

/** What it was told, or what is wrong with that. */
export type StartArguments =
  | { readonly kind: 'help' }
  | { readonly kind: 'wrong'; readonly problem: string }
  | { readonly kind: 'start'; readonly once: boolean; readonly verbose: boolean; readonly consul: ConsulChoice };

/** For `--help`. */
export const HELP = `Runs ecs-check-restart on this machine: both real functions, sample services with real checks, Consul, and doubles of
ECS, DynamoDB, EventBridge and SQS. Breaks a sample service every minute and tells what comes of it; then declares
proxies, changes, crashes, breaks and removes them. Nothing of AWS is used.

  npm start [-- OPTIONS]

  --once           tell the story once and end: 0 when the task was restarted, its replacement got healthy, and the
                   proxies were what they should be within two minutes, else 1
  --consul WHICH   auto    a real Consul if $CONSUL_BIN, the PATH or the cache has one, else the built-in double (default)
                   real    a real one, or nothing
                   double  the built-in double
                   fetch   a real one, downloaded from this machine's own Debian mirror if there is none
  --verbose        the functions' log lines too (they are in a file in any case)
  --help           this text

Ctrl-C ends it. Several can run beside each other: all ports are free ones of the loopback address.
`;

/** Never throws. */
export function readArguments(args: string[]): StartArguments {
  try {
    const { values } = parseArgs({
      args,
      options: {
        once: { type: 'boolean', default: false },
        verbose: { type: 'boolean', default: false },
        consul: { type: 'string', default: 'auto' },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) return { kind: 'help' };
    const consul = CONSUL_CHOICES.find((choice) => choice === values.consul);
    if (!consul) return { kind: 'wrong', problem: notAllowed('--consul', values.consul, CONSUL_CHOICES.join(', ')) };
    return { kind: 'start', once: values.once, verbose: values.verbose, consul };
  } catch (error) {
    return { kind: 'wrong', problem: error instanceof Error ? error.message : String(error) };
  }
}
