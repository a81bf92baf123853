// herald token: a bearer token of the embedded issuer on stdout, and nothing else.

import type { Config } from './config.ts';
import { makeOrExplain } from './lock.ts';
import { StartError } from './start-error.ts';
import { demoOwner, embeddedIssuerOf } from './tokens.ts';

interface TokenOptions {
  readonly sub?: string | undefined;
  readonly email?: string | undefined;
  readonly name?: string | undefined;
  readonly hours: number;
}

export async function printToken(config: Config, { sub, email, name, hours }: TokenOptions): Promise<void> {
  if (config.AUTH_JWKS_URL !== null)
    throw new StartError('AUTH_JWKS_URL is set: tokens come from that identity provider, there is no embedded issuer.');
  const hoursMax = config.AUTH_TOKEN_LIFETIME / 3_600_000;
  if (hours > hoursMax) throw new StartError(`--hours: at most ${hoursMax}: AUTH_TOKEN_LIFETIME takes no longer ones.`);
  await makeOrExplain(config);
  const person = sub === undefined ? demoOwner : { sub };
  const { token } = await embeddedIssuerOf(config);
  const told = { ...person, ...(email === undefined ? {} : { email }), ...(name === undefined ? {} : { name }) };
  process.stdout.write(`${await token({ ...told, hours })}\n`);
}
