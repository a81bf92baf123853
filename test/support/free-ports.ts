// Free ports for servers that have to be told theirs.

import { createServer } from 'node:net';

/**
 * The first of `count` consecutive free ports. Below the ports that the system gives to outgoing connections (32768 on,
 * on Linux), so that nobody takes one while its engine is down.
 */
export async function freePorts(count: number): Promise<number> {
  for (let attempt = 0; attempt < 50; attempt++) {
    const first = 20_000 + Math.floor(Math.random() * 12_000);
    const ports = Array.from({ length: count }, (_, i) => first + i);
    if ((await Promise.all(ports.map(isFree))).every(Boolean)) return first;
  }
  throw new Error(`found no ${count} free ports in a row between 20000 and 32000`);
}

export function freePort(): Promise<number> {
  return freePorts(1);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
