// What was logged, for tests to look at.

import type { Logger } from '../../../src/ports/logger.ts';

export interface Line {
  readonly level: keyof Logger;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };

export function recordTo(lines: Line[]): Logger {
  const at =
    (level: keyof Logger) =>
    (message: string, fields: Readonly<Record<string, unknown>> = {}) => {
      lines.push({ level, message, fields });
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}
