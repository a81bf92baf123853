// Registers every schema that a copied log was written with, old versions first, so that the registry knows all that stands in the log.

import type { EventType } from '../../domain/events.ts';
import type { Topic } from '../../domain/topics.ts';
import type { WrittenSchema } from '../../ports/event-log-copy.ts';
import type { Registry } from './registry.ts';
import { allSettled, registerUnder, subjectOf, topicsOfType } from './subjects.ts';
import { StartRefusal } from './wait-until-up.ts';

export interface WrittenIds {
  /** @throws Error for a schema that isn't among those that were registered */
  of(schema: WrittenSchema): number;
}

export interface WrittenDependencies {
  readonly registry: Registry;
  nameOf(topic: Topic): string;
}

/** Safe to repeat. @throws StartRefusal for a type that this version doesn't know; RegistryRefusal naming the subject; any other Error may pass */
export async function registerWritten(
  deps: WrittenDependencies,
  schemas: readonly WrittenSchema[],
): Promise<WrittenIds> {
  const ids = new Map<string, number>();
  for (const schema of schemas) ids.set(keyOf(schema), await registerOne(deps, schema));
  return {
    of(schema) {
      const id = ids.get(keyOf(schema));
      if (id === undefined) throw new Error(`schema ${schema.fingerprint} of ${schema.type} was not registered`);
      return id;
    },
  };
}

/** One after the other a type's versions come in their order; all subjects of one at once. */
async function registerOne({ registry, nameOf }: WrittenDependencies, schema: WrittenSchema): Promise<number> {
  const subjects = topicsOf(schema).map((topic) => subjectOf(nameOf(topic), schema));
  const [id] = await allSettled(subjects.map((subject) => registerUnder(registry, subject, schema.json)));
  if (id === undefined) throw new Error(`no topic takes events of type ${schema.type}`);
  return id;
}

function topicsOf({ type }: WrittenSchema): Topic[] {
  try {
    return topicsOfType(type as EventType);
  } catch {
    throw new StartRefusal(
      `The log holds a schema of event type ${type}, which this version of Herald does not know: copy it with the version that wrote it.`,
    );
  }
}

function keyOf({ type, fingerprint }: WrittenSchema): string {
  return `${type} ${fingerprint}`;
}
