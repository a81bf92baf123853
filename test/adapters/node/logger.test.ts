// Logs: one JSON line each, and never a secret in one.

import type { ChildProcess } from 'node:child_process';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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

describe('a process whose stderr takes nothing', () => {
  const started: ChildProcess[] = [];
  afterEach(() => {
    for (const child of started.splice(0)) child.kill('SIGKILL');
  });

  /** Runs `code` with a logger of its own; on a full disk, until it has room. */
  const begin = (stderr: number, code: string) => {
    const logger = new URL('../../../src/adapters/node/logger.ts', import.meta.url).href;
    const whole = `import { createLogger } from '${logger}'; const logger = createLogger({ level: 'info' }); ${code}`;
    const nothingFits = ['--fsize=0:unlimited', process.execPath, '--input-type=module', '--eval', whole];
    const child = spawn('prlimit', nothingFits, { stdio: ['pipe', 'pipe', stderr] });
    started.push(child);
    const told = { out: '' };
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (told.out += text));
    return { child, told, exited: once(child, 'exit') };
  };

  it.each([
    ['at once', ''],
    ['after it has been told', 'process.stdin.resume(); await new Promise((end) => process.stdin.on("end", end));'],
  ])('ends %s', async (_, before) => {
    const stderr = openSync('/dev/full', 'a');
    const { child, exited } = begin(
      stderr,
      `for (const line of ['a', 'b', 'c']) logger.info(line); ${before} logger.info('d'); logger.flush(); process.exit(3);`,
    );
    closeSync(stderr);
    child.stdin?.end();
    expect(await exited).toEqual([3, null]);
  });

  it('goes on, and its lines come once there is room', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'herald-log-'));
    const path = join(dir, 'log');
    const stderr = openSync(path, 'a');
    const lines = 200;
    const { child, told, exited } = begin(
      stderr,
      `for (let i = 0; i < ${lines}; i++) logger.info('x'.repeat(500), { i });
      logger.flush();
      process.stdin.on('data', () => process.stdout.write('alive')).on('end', () => process.exit(0));`,
    );
    closeSync(stderr);
    try {
      child.stdin?.write('are you?');
      await until(() => told.out === 'alive', { what: 'an answer' });
      expect(readFileSync(path, 'utf8')).toBe('');
      execFileSync('prlimit', ['--pid', String(child.pid), '--fsize=unlimited:unlimited']);
      const written = () => readFileSync(path, 'utf8').split('\n').slice(0, -1);
      await until(() => written().length === lines, { what: 'all lines' });
      expect(written().map((line) => JSON.parse(line).i)).toEqual([...Array(lines).keys()]);
      child.stdin?.end();
      expect(await exited).toEqual([0, null]);
    } finally {
      rmSync(dir, { recursive: true });
    }
  });
});
