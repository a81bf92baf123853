// The service that a tool speaks to: by its address, with the demo tenant's key and token where Herald issues tokens itself.

import type { Config } from '../config.ts';
import { demoOwner, embeddedIssuerOf } from '../tokens.ts';

export interface LocalService {
  /** Without a slash at its end. */
  readonly url: string;
  /** null: it doesn't answer, or takes no token of the embedded issuer. */
  readonly tenant: { readonly apiKey: string; readonly webhookSecret: string } | null;
}

/** A service that doesn't answer within this is not there. */
const answerMaxMs = 3000;

export function localUrl({ HOST: host, PORT: port }: Config): string {
  return `http://${host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host}:${port}`;
}

export async function findService(config: Config, url = localUrl(config)): Promise<LocalService> {
  const at = url.replace(/\/+$/, '');
  return { url: at, tenant: config.AUTH_JWKS_URL === null ? await demoTenant(config, at) : null };
}

async function demoTenant(config: Config, url: string): Promise<LocalService['tenant']> {
  try {
    const { token } = await embeddedIssuerOf(config);
    const headers = { authorization: `Bearer ${await token({ ...demoOwner, hours: 1 })}` };
    const answer = await fetch(`${url}/api/v1/tenant`, { headers, signal: AbortSignal.timeout(answerMaxMs) });
    return answer.ok ? ((await answer.json()) as NonNullable<LocalService['tenant']>) : null;
  } catch {
    return null;
  }
}
