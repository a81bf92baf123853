// The schemas that this process writes with: registered under a subject for each event type on each topic that it can go to (TopicRecordName).
//
// Many subjects share one schema. A type's first subject is registered last, so where it has the newest schema, all the others have it too: a usual
// start asks for the list of subjects and looks one up per type.

import type { Codec, EventSchema } from '../../codec/index.ts';
import { channels, type DomainEvent, type EventType, priorities } from '../../domain/events.ts';
import { type Topic, topicOf } from '../../domain/topics.ts';
import { type Registry, RegistryRefusal } from './registry.ts';

/** The id of each type's newest schema. */
export type SchemaIds = ReadonlyMap<EventType, number>;

export interface SchemaDependencies {
  readonly registry: Registry;
  readonly codec: Codec;
  nameOf(topic: Topic): string;
}

/** Every topic that an event of this type can go to, by the domain's own word. */
export function topicsOfType(type: EventType): Topic[] {
  const topics = channels.flatMap((channel) =>
    priorities.map((priority) => topicOf({ type, channel, priority } as DomainEvent)),
  );
  return [...new Set(topics)];
}

/** Safe to repeat, and for several processes at once. @throws RegistryRefusal naming the subject; any other Error may pass */
export async function registerSchemas({ registry, codec, nameOf }: SchemaDependencies): Promise<SchemaIds> {
  const known = await registry.subjects();
  const ids = await allSettled(
    codec.newestSchemas().map(async (schema): Promise<[EventType, number]> => {
      const type = schema.type as EventType;
      const subjects = topicsOfType(type).map((topic) => subjectOf(nameOf(topic), schema));
      return [type, await registerType(registry, subjects, known, schema)];
    }),
  );
  return new Map(ids);
}

async function registerType(
  registry: Registry,
  [first = '', ...others]: readonly string[],
  known: ReadonlySet<string>,
  { json }: EventSchema,
): Promise<number> {
  if (known.has(first) && others.every((subject) => known.has(subject))) {
    const id = await registry.lookup(first, json);
    if (id !== null) return id;
  }
  await allSettled(others.map((subject) => registerUnder(registry, subject, json)));
  return registerUnder(registry, first, json);
}

/** Once all have ended, so that nothing is under way when it rejects; a refusal goes before what may pass. */
export async function allSettled<T>(requests: readonly Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(requests);
  const failures = settled.flatMap((of) => (of.status === 'rejected' ? [of.reason as unknown] : []));
  if (failures.length > 0) throw failures.find((error) => error instanceof RegistryRefusal) ?? failures[0];
  return settled.flatMap((of) => (of.status === 'fulfilled' ? [of.value] : []));
}

/** @throws RegistryRefusal naming the subject; any other Error may pass */
export async function registerUnder(registry: Registry, subject: string, json: string): Promise<number> {
  try {
    return await registry.register(subject, json);
  } catch (error) {
    if (error instanceof RegistryRefusal)
      throw new RegistryRefusal(
        `The schema registry refuses our schema for subject ${subject}: ${error.message}`,
        error,
      );
    throw error;
  }
}

/** @param topicName as the brokers know it */
export function subjectOf(topicName: string, { json }: Pick<EventSchema, 'json'>): string {
  const { namespace, name } = JSON.parse(json) as { readonly namespace: string; readonly name: string };
  return `${topicName}-${namespace}.${name}`;
}
