// Under which address this service is reached: what the settings say or, outside production, where it listens.

import type { Config } from './config.ts';

/** Without a slash at its end; null: nobody has said it. */
export function publicUrlOf({ PUBLIC_URL: given, HOST: host, PORT: port, isProduction }: Config): string | null {
  if (given !== null || isProduction || port === 0) return given;
  return addressOf(host, port);
}

/** An address that a person can open: every interface is reached by localhost. */
export function addressOf(host: string, port: number): string {
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}
