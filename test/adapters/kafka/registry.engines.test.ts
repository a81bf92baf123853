// What a start and a copy leave in the schema registry, also when several processes come at the same moment.

import { randomBytes } from 'node:crypto';

import { afterEach, describe, expect, it, jest } from '@jest/globals';

import { createRegistry, type Registry } from '../../../src/adapters/kafka/registry.ts';
import { registerUnder, subjectOf, topicsOfType } from '../../../src/adapters/kafka/subjects.ts';
import { createCodec } from '../../../src/codec/index.ts';
import type { EventType } from '../../../src/domain/events.ts';
import { deliveriesTopic } from '../../../src/domain/topics.ts';
import { engines } from '../../support/engines.ts';
import { type LogWorld, makeLogWorld } from './log-world.ts';

jest.setTimeout(60_000);

const field = (name: string, type: string, more: object = {}) => ({ name, type, ...more });
const schemaOf = (...fields: object[]) =>
  JSON.stringify({ type: 'record', name: 'Letter', namespace: 'test', fields: [field('text', 'string'), ...fields] });
const plain = schemaOf();
const withDefault = schemaOf(field('note', 'string', { default: '' }));
/** Who reads by it can't read what `plain` wrote. */
const unreadable = schemaOf(field('note', 'string'));

const { registryUrl } = engines();
const asked = async (method: string, path: string, body?: object): Promise<unknown> => {
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await fetch(`${registryUrl}${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    ...sent,
  });
  return response.json();
};
const compatibilityOf = (subject: string) => asked('GET', `/config/${encodeURIComponent(subject)}`);
const transitive = { compatibilityLevel: 'BACKWARD_TRANSITIVE' };

const brokerStarts = /coordinator is loading/;

describe('the start of several processes on a new log', () => {
  let world: LogWorld;
  afterEach(() => world.remove());

  it('registers every subject BACKWARD_TRANSITIVE, and none of them has to wait or is refused', async () => {
    world = makeLogWorld();
    await Promise.all([1, 2, 3].map(() => world.open()));
    // What a broker that has just been started makes them wait for is none of the registry's doing.
    const told = world.lines.filter(
      ({ level, fields }) => level !== 'info' && !brokerStarts.test(String(fields?.['reason'])),
    );
    expect(told).toEqual([]);
    const subjects = createCodec()
      .newestSchemas()
      .flatMap((schema) =>
        topicsOfType(schema.type as EventType).map((topic) => subjectOf(world.settings.prefix + topic, schema)),
      );
    expect(subjects.length).toBeGreaterThan(20);
    for (const subject of subjects) expect([subject, await compatibilityOf(subject)]).toEqual([subject, transitive]);
  });

  it('stops at a schema that does not fit, and names the subject', async () => {
    world = makeLogWorld();
    const subject = `${world.settings.prefix}${deliveriesTopic}-herald.AttemptFailed`;
    const other = { type: 'record', name: 'AttemptFailed', namespace: 'herald', fields: [field('other', 'string')] };
    const registry = createRegistry(registryUrl);
    await registry.register(subject, JSON.stringify(other));
    registry.close();
    await expect(world.open()).rejects.toThrow(`The schema registry refuses our schema for subject ${subject}`);
    expect(world.lines.filter(({ level }) => level !== 'info')).toEqual([]);
  });
});

describe('a registry', () => {
  const registries: Registry[] = [];
  const subjects: string[] = [];
  const processes = (count: number) => {
    const made = Array.from({ length: count }, () => createRegistry(registryUrl));
    registries.push(...made);
    return made;
  };
  const newSubject = (): string => {
    const subject = `letters-${randomBytes(5).toString('hex')}-test.Letter`;
    subjects.push(subject);
    return subject;
  };
  afterEach(async () => {
    for (const registry of registries.splice(0)) registry.close();
    for (const subject of subjects.splice(0)) await asked('DELETE', `/subjects/${encodeURIComponent(subject)}`);
  });

  it('gives the processes that register a new subject at the same moment one id', async () => {
    const all = processes(4);
    for (let round = 0; round < 10; round++) {
      const subject = newSubject();
      const ids = await Promise.all(all.map((registry) => registerUnder(registry, subject, plain)));
      expect(new Set(ids).size).toBe(1);
      expect(await compatibilityOf(subject)).toEqual(transitive);
    }
  });

  it('refuses one that was set up otherwise, and leaves it as it is', async () => {
    const [registry] = processes(1);
    const subject = newSubject();
    await asked('PUT', `/config/${subject}`, { compatibility: 'FULL' });
    await expect(registry?.register(subject, plain)).rejects.toThrow('BACKWARD_TRANSITIVE != FULL');
    expect(await compatibilityOf(subject)).toEqual({ compatibilityLevel: 'FULL' });
  });

  it('takes a newer schema that can read the older ones, and refuses the one that can not, from every process', async () => {
    const all = processes(3);
    const subject = newSubject();
    const [first] = all;
    await first?.register(subject, plain);
    const refused = await Promise.allSettled(all.map((registry) => registerUnder(registry, subject, unreadable)));
    for (const of of refused)
      expect(of).toMatchObject({
        status: 'rejected',
        reason: { name: 'RegistryRefusal', message: expect.stringContaining(subject) },
      });
    const ids = await Promise.all(all.map((registry) => registerUnder(registry, subject, withDefault)));
    expect(new Set(ids).size).toBe(1);
  });
});
