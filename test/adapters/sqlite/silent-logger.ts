// A logger for tests that look at no logs.

import type { Logger } from '../../../src/ports/logger.ts';

const nothing = () => undefined;

export const silentLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };
