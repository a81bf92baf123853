// Tenants whose notifications have all partition numbers between them, each with its providers.

import { createEmbeddedIssuer } from '../../src/adapters/node/issuer.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import { defaultPartitioning, partitionsOfTenant } from '../../src/domain/topics.ts';
import { dataFiles } from '../../src/main/data-files.ts';
import type { Answer, DataDir } from '../support/herald.ts';

export interface Tenant {
  readonly id: TenantId;
  readonly apiKey: string;
  /** With its owner's bearer token, of whichever API answers. */
  dashboard(method: string, path: string, body?: unknown): Promise<Answer>;
}

/** So many provisions are enough for 12 numbers in all but one case of 10^8: 2 numbers each. */
const provisionsMax = 128;
/** A frozen API holds a request for as long. */
const answersWithinMs = 20_000;

export async function makeTenants(options: {
  readonly dataDir: DataDir;
  readonly apiUrls: readonly string[];
  readonly mailPort: number;
}): Promise<readonly Tenant[]> {
  const { dataDir, apiUrls, mailPort } = options;
  const keyPath = dataFiles(dataDir.path).issuerKey;
  const issuer = await createEmbeddedIssuer({ keyPath, issuer: 'herald', audience: 'herald' });
  const covered = new Set<number>();
  const tenants: Tenant[] = [];
  for (let i = 0; covered.size < defaultPartitioning.partitions; i++) {
    if (i === provisionsMax) throw new Error(`${provisionsMax} tenants have ${covered.size} partition numbers`);
    const bearer = await issuer.token({ sub: `owner-${i}`, hours: 12 });
    const dashboard: Tenant['dashboard'] = (method, path, body) => fromAny(apiUrls, bearer, method, path, body);
    const { body } = await dashboard('POST', '/auth/provision-tenant');
    const { id, apiKey } = body['tenant'] as { id: TenantId; apiKey: string };
    const numbers = partitionsOfTenant(id, defaultPartitioning);
    if (numbers.every((number) => covered.has(number))) continue;
    numbers.forEach((number) => covered.add(number));
    tenants.push({ id, apiKey, dashboard });
  }
  await Promise.all(tenants.map((tenant) => configure(tenant, mailPort)));
  return tenants;
}

/** The first answer that isn't 5xx; else the last one. */
async function fromAny(
  apiUrls: readonly string[],
  bearer: string,
  method: string,
  path: string,
  body: unknown,
): Promise<Answer> {
  let failure: unknown;
  for (const url of apiUrls) {
    try {
      const response = await fetch(`${url}/api/v1${path}`, {
        method,
        signal: AbortSignal.timeout(answersWithinMs),
        headers: {
          authorization: `Bearer ${bearer}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const answered = (await response.json()) as Record<string, unknown>;
      if (response.status < 500) return { status: response.status, headers: response.headers, body: answered };
      failure = new Error(`${method} ${path} of ${url}: ${response.status} ${JSON.stringify(answered)}`);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

async function configure({ dashboard }: Tenant, mailPort: number): Promise<void> {
  const smtp = { fromName: 'Shop', fromEmail: 'shop@example.com', host: '127.0.0.1', port: mailPort };
  const twilio = { from: '+15005550006', accountSid: 'AC00000000000000000000000000000001' };
  const providers = [
    {
      channel: 'EMAIL',
      provider: 'smtp',
      apiKey: 'a-password-of-smtp',
      config: { ...smtp, secure: false, user: 'shop' },
    },
    { channel: 'SMS', provider: 'twilio', apiKey: 'a-token-of-twilio-0123456789', config: twilio },
  ];
  for (const provider of providers) {
    const { status, body } = await dashboard('POST', '/providers', { ...provider, enabled: true });
    if (status !== 200) throw new Error(`a provider was not saved: ${JSON.stringify(body)}`);
  }
}
