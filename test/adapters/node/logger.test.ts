// Logs: one JSON line each, and never a secret in one.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { createLogger, type LogLevel } from '../../../src/adapters/node/logger.ts';
import type { Logger } from '../../../src/ports/logger.ts';
import { until } from '../../support/until.ts';

describe('the logger', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'herald-log-'));
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  const logged = async (log: (logger: Logger) => void, level: LogLevel = 'debug') => {
    const path = join(dir, 'log');
    writeFileSync(path, '');
    const logger = createLogger({ level, to: path });
    log(logger);
    logger.info('the end');
    const text = await until(() => {
      const written = readFileSync(path, 'utf8');
      return written.includes('the end') ? written : null;
    });
    return text.trim().split('\n').slice(0, -1);
  };

  it('writes a line of JSON with time, level, message and fields', async () => {
    const [line] = await logged((logger) => logger.warn('disk full', { path: 'a', bytes: 3, list: [1, { b: null }] }));
    expect(JSON.parse(line ?? '')).toMatchObject({
      level: 40,
      msg: 'disk full',
      path: 'a',
      bytes: 3,
      list: [1, { b: null }],
    });
    expect(JSON.parse(line ?? '').time).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
  });

  it('leaves out what is below its level', async () => {
    const lines = await logged((logger) => {
      logger.debug('no');
      logger.info('yes');
    }, 'info');
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['yes']);
  });

  it('takes secrets out by the names of their fields, also inside of others', async () => {
    const secret = 'hunter2hunter2';
    const fields = {
      apiKey: secret,
      api_key: secret,
      'x-api-key': secret,
      password: secret,
      webhookSecret: secret,
      accessToken: secret,
      request: { headers: { authorization: secret, cookie: secret } },
      list: [{ clientSecret: secret }],
    };
    const [line] = await logged((logger) => logger.info('sent', fields));
    expect(line).not.toContain(secret);
    expect(JSON.parse(line ?? '')).toMatchObject({
      apiKey: '[redacted]',
      request: { headers: { cookie: '[redacted]' } },
    });
  });

  it('says of an error its name, message, code, stack and causes, and none of its other properties', async () => {
    const cause = Object.assign(new Error('refused'), { code: 'ECONNREFUSED', config: { key: 'hunter2' } });
    const error = new TypeError('no answer', { cause });
    const [line] = await logged((logger) => logger.error('failed', { err: Object.assign(error, { body: 'hunter2' }) }));
    const { err } = JSON.parse(line ?? '');
    expect(err).toMatchObject({
      name: 'TypeError',
      message: 'no answer',
      cause: { message: 'refused', code: 'ECONNREFUSED' },
    });
    expect(err.stack).toContain('logger.test');
    expect(line).not.toContain('hunter2');
  });
});
