// herald adopt: log, settings and secret are for one another from now on, whatever they say; a person's decision after one of them was lost.

import { createCodec } from '../codec/index.ts';
import type { Config } from './config.ts';
import { openTied } from './engines.ts';
import { createProcess } from './process.ts';
import { secretBoxOf } from './secrets.ts';
import { renewTie } from './tie.ts';

/** @throws StartError while an embedded service runs */
export async function adopt(config: Config): Promise<void> {
  const parts = createProcess({ ...config, LOG_LEVEL: 'warn' });
  const { signal } = new AbortController();
  const { tie, settings, close } = await openTied({ ...parts, config, codec: createCodec(), signal });
  try {
    await renewTie({ tie, settings, secretBox: await secretBoxOf(config) });
    process.stdout.write(`${tie.log} and ${tie.settings} are for one another from now on.\n`);
  } finally {
    await close();
    parts.logger.flush();
  }
}
