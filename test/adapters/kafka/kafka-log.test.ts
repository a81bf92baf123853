// kafkajs' own log, passed on.

import { describe, expect, it } from '@jest/globals';
import { logLevel } from 'kafkajs';

import { createKafkaLog } from '../../../src/adapters/kafka/kafka-log.ts';
import type { Logger } from '../../../src/ports/logger.ts';

function harness() {
  const lines: { level: string; message: string; fields: unknown }[] = [];
  const at = (level: string) => (message: string, fields?: unknown) => void lines.push({ level, message, fields });
  const logger: Logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
  let now = 0;
  const write = createKafkaLog(logger, () => now)(logLevel.INFO);
  const say = (message: string, extra: object = {}, level = logLevel.ERROR) =>
    write({
      namespace: 'Connection',
      level,
      label: 'ERROR',
      log: { message, timestamp: '', logger: 'kafkajs', ...extra },
    });
  return { lines, say, pass: (ms: number) => (now += ms) };
}

describe("kafkajs' log", () => {
  it('warns once a minute of the same broker with the same complaint, and is debug in between', () => {
    const { lines, say, pass } = harness();
    for (let n = 0; n < 3; n++) say('Connection error: connect ECONNREFUSED', { broker: 'a:1', retryCount: n });
    say('Connection error: connect ECONNREFUSED', { broker: 'b:1' });
    pass(60_000);
    say('Connection error: connect ECONNREFUSED', { broker: 'a:1' });
    expect(lines.map(({ level }) => level)).toEqual(['warn', 'debug', 'debug', 'warn', 'warn']);
  });

  it('takes what a broker answered, and what is no complaint, for debug', () => {
    const { lines, say } = harness();
    say('Response Produce(key: 0, version: 7)', { error: 'This server is not the leader' });
    say('Consumer has joined the group', {}, logLevel.INFO);
    expect(lines.map(({ level }) => level)).toEqual(['debug', 'debug']);
  });

  it('passes on a few named fields alone', () => {
    const { lines, say } = harness();
    say('failed', { broker: 'a:1', error: 'no', sasl: { password: 'secret' }, payload: 'secret', stack: 'secret' });
    expect(lines[0]?.fields).toEqual({ of: 'Connection', broker: 'a:1', error: 'no' });
  });
});
