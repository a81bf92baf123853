// Which engines the end-to-end suite runs on: one definition, run on both sets. What only one of them has says so by name.

import { it } from '@jest/globals';

export const engineSet: 'embedded' | 'real' = process.env['HERALD_TEST_ENGINES'] === 'real' ? 'real' : 'embedded';

type Test = (name: string, body: () => Promise<void>, timeoutMs?: number) => void;

/** A test about the embedded engines' own: files, threads, one process. On real engines it isn't there. */
export const embeddedOnly: Test = engineSet === 'embedded' ? it : none;

/** A test about engines that many processes share. On embedded engines it isn't there. */
export const realOnly: Test = engineSet === 'real' ? it : none;

function none(): void {}
