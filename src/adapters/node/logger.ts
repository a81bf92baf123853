// Structured logs: JSON lines on stderr, secrets taken out by the names of their fields.

import { isNativeError } from 'node:util/types';

import { pino, stdTimeFunctions } from 'pino';

import type { LogFields, Logger } from '../../ports/logger.ts';
import { createLogLines } from './log-lines.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

export interface LoggerOptions {
  readonly level: LogLevel;
  /** Where lines go; by default stderr. A path is for tests. */
  readonly to?: string;
}

/** Lines are written without waiting for them; `flush` writes what waits, for a thread or a process that ends. */
export function createLogger(options: LoggerOptions): Logger & { flush(): void } {
  const lines = createLogLines(options.to);
  const log = pino(
    {
      level: options.level,
      base: { pid: process.pid },
      timestamp: stdTimeFunctions.isoTime,
      // Instead of pino's own, which writes an error's every property.
      serializers: { err: (err: unknown) => err },
    },
    lines,
  );
  const write = (level: Exclude<LogLevel, 'silent'>, message: string, fields: LogFields | undefined) => {
    if (log.isLevelEnabled(level)) log[level](safe(fields), message);
  };
  return {
    debug: (message, fields) => write('debug', message, fields),
    info: (message, fields) => write('info', message, fields),
    warn: (message, fields) => write('warn', message, fields),
    error: (message, fields) => write('error', message, fields),
    flush: lines.flush,
  };
}

const secretName = /secret|password|authorization|cookie|credential|api-?_?key|token$/i;
const depthMax = 3;
const causesMax = 3;

/** A second guard behind the rule that no caller logs a secret. */
function safe(fields: LogFields | undefined): Record<string, unknown> {
  return fields === undefined ? {} : safeObject(fields, depthMax);
}

function safeObject(fields: object, depth: number): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    copy[name] = secretName.test(name) ? '[redacted]' : safeValue(value, depth - 1);
  }
  return copy;
}

function safeValue(value: unknown, depth: number): unknown {
  if (isNativeError(value)) return errorFields(value, causesMax);
  if (typeof value !== 'object' || value === null) return value;
  if (depth === 0) return '[deeper]';
  return Array.isArray(value) ? value.map((item) => safeValue(item, depth - 1)) : safeObject(value, depth);
}

/** An error's own other properties stay out: those of SDKs hold whole requests, headers included. */
function errorFields(error: Error, causes: number): Record<string, unknown> {
  const { name, message, stack, cause } = error;
  const code = 'code' in error ? { code: error.code } : {};
  const inner = isNativeError(cause) && causes > 0 ? { cause: errorFields(cause, causes - 1) } : {};
  return { name, message, ...code, stack, ...inner };
}
