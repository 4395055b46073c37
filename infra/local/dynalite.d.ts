/** The part of dynalite that we use; it brings no types. */
declare module 'dynalite' {
  import type { Server } from 'node:http';
  export default function dynalite(options?: { path?: string; createTableMs?: number; deleteTableMs?: number }): Server;
}
