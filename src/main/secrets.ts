// The secrets of the service itself: given by the settings, or made once and kept in the data folder, which production refuses.

import { randomBytes } from 'node:crypto';

import { createCallbackAddresses } from '../adapters/node/callback-addresses.ts';
import { isOpenToOthers } from '../adapters/node/data-dir.ts';
import { createInboxTokens } from '../adapters/node/inbox-tokens.ts';
import { createSecretBox } from '../adapters/node/secret-box.ts';
import { readOrCreateSecret } from '../adapters/node/secrets-file.ts';
import { createUnsubscribeLinks } from '../adapters/node/unsubscribe-links.ts';
import type { CallbackAddresses } from '../ports/callback-addresses.ts';
import type { InboxTokens } from '../ports/inbox-tokens.ts';
import type { Logger } from '../ports/logger.ts';
import type { SecretBox } from '../ports/secret-box.ts';
import type { UnsubscribeLinks } from '../ports/unsubscribe-links.ts';
import type { Config } from './config.ts';
import { openOrExplain } from './data-file.ts';
import { dataFiles } from './data-files.ts';
import { publicUrlOf } from './public-url.ts';
import { StartError } from './start-error.ts';

/** readConfig has made sure that production gives one. */
export async function encryptionSecretOf(config: Config): Promise<string> {
  if (config.ENCRYPTION_SECRET !== null) return config.ENCRYPTION_SECRET;
  const path = dataFiles(config.DATA_DIR).encryptionSecret;
  return openOrExplain(path, 'secret', () => readOrCreateSecret(path, () => randomBytes(32).toString('base64url')));
}

/** A secret that others could read is theirs: a warning, which in production stops the start. @throws StartError naming the files and what to do */
export async function checkSecretFiles(
  { DATA_DIR: dataDir, isProduction }: Config,
  logger: Pick<Logger, 'warn'>,
): Promise<void> {
  const { encryptionSecret, issuerKey } = dataFiles(dataDir);
  const open = await openOrExplain(dataDir, 'folder', () => [encryptionSecret, issuerKey].filter(isOpenToOthers));
  const remedy = (path: string) => `run chmod 600 ${path}, and make a new one if somebody may have read it`;
  if (isProduction && open.length > 0)
    throw new StartError(
      open.map((path) => `${path} can be read by others than its owner: ${remedy(path)}.`).join('\n'),
    );
  for (const path of open) logger.warn('a secret file can be read by others', { path, remedy: remedy(path) });
}

/** Made under the secret in use, read under the former one as well. */
export async function unsubscribeLinksOf(config: Config): Promise<UnsubscribeLinks> {
  const { ENCRYPTION_SECRET_PREVIOUS: previous } = config;
  const secret = await encryptionSecretOf(config);
  return createUnsubscribeLinks(publicUrlOf(config), secret, previous === null ? [] : [previous]);
}

/** Signed under the secret in use, read under the former one as well. */
export async function callbackAddressesOf(config: Config): Promise<CallbackAddresses> {
  const { ENCRYPTION_SECRET_PREVIOUS: previous } = config;
  const secrets = [await encryptionSecretOf(config), ...(previous === null ? [] : [previous])];
  return createCallbackAddresses({ secrets, publicUrl: publicUrlOf(config) });
}

/** Signed under the secret in use, read under the former one as well. */
export async function inboxTokensOf(config: Config): Promise<InboxTokens> {
  const { ENCRYPTION_SECRET_PREVIOUS: previous } = config;
  return createInboxTokens([await encryptionSecretOf(config), ...(previous === null ? [] : [previous])]);
}

/** Seals under the secret in use, opens under the former one as well. */
export async function secretBoxOf(config: Config): Promise<SecretBox> {
  const { ENCRYPTION_SECRET_PREVIOUS: previous } = config;
  return createSecretBox(await encryptionSecretOf(config), previous === null ? [] : [previous]);
}
