// The secrets of the service itself: given by the settings, or made once and kept in the data folder, which production refuses.

import { randomBytes } from 'node:crypto';

import { createSecretBox } from '../adapters/node/secret-box.ts';
import { readOrCreateSecret } from '../adapters/node/secrets-file.ts';
import type { SecretBox } from '../ports/secret-box.ts';
import type { Config } from './config.ts';
import { openOrExplain } from './data-file.ts';
import { dataFiles } from './data-files.ts';

/** readConfig has made sure that production gives one. */
export async function encryptionSecretOf(config: Config): Promise<string> {
  if (config.ENCRYPTION_SECRET !== null) return config.ENCRYPTION_SECRET;
  const path = dataFiles(config.DATA_DIR).encryptionSecret;
  return openOrExplain(path, 'secret', () => readOrCreateSecret(path, () => randomBytes(32).toString('base64url')));
}

/** Seals under the secret in use, opens under the former one as well. */
export async function secretBoxOf(config: Config): Promise<SecretBox> {
  const { ENCRYPTION_SECRET_PREVIOUS: previous } = config;
  return createSecretBox(await encryptionSecretOf(config), previous === null ? [] : [previous]);
}
