// Lets queries through to read models that are whole: one that is folded from the log's beginning would say that half of the notifications don't exist.

import type { DomainError } from '../domain/errors.ts';
import { unavailable } from '../domain/errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import type { CatchingUp, CatchUp } from '../projections/catching-up.ts';
import { readModels } from '../projections/index.ts';

/** How far each read model is that has a name here; asked once a second at most. */
export type CatchUps = ReadonlyMap<string, CatchUp>;

/** So long an answer is good: queries ask nothing in between. */
const freshMs = 1_000;
const retryAfterSeconds = 5;

/** The same reader; what asks for documents of a read model that is catching up rejects with 503 and how far it is. */
export function wholeReadModels(
  reader: ReadModelReader,
  { catchUps, clock }: { readonly catchUps: CatchUps; readonly clock: Clock },
): ReadModelReader {
  const checks = new Map([...catchUps].map(([name, catchUp]) => [name, createCheck(name, catchUp, clock)]));
  const checkOf = new Map(
    readModels.flatMap(({ definition: { name, collections } }) =>
      collections.map((collection) => [collection.name, checks.get(name)] as const),
    ),
  );
  const whole = async (collection: string): Promise<void> => checkOf.get(collection)?.();
  return {
    ...reader,
    async get(collection, ...rest) {
      await whole(collection);
      return reader.get(collection, ...rest);
    },
    async find(query) {
      await whole(query.collection);
      return reader.find(query);
    },
    async findRanges(query) {
      await whole(query.collection);
      return reader.findRanges(query);
    },
    async count(query, cap) {
      await whole(query.collection);
      return reader.count(query, cap);
    },
  };
}

/** `notifications is folded from the log's beginning: 4,554 of 94,002 events`. */
export function saidOf(readModel: string, { done, total }: CatchingUp): string {
  const isFolded = done >= total ? ', and its indexes are made' : '';
  return `${readModel} is folded from the log's beginning: ${done.toLocaleString('en')} of ${total.toLocaleString('en')} events${isFolded}`;
}

function createCheck(readModel: string, catchUp: CatchUp, clock: Clock): () => Promise<void> {
  let askedAt = -Infinity;
  let asked: Promise<CatchingUp | null> = Promise.resolve(null);
  return async () => {
    if (clock.monotonic() - askedAt >= freshMs) {
      askedAt = clock.monotonic();
      asked = catchUp.progress();
    }
    const progress = await asked;
    if (progress !== null) throw catchingUp(readModel, progress);
  };
}

function catchingUp(readModel: string, progress: CatchingUp): DomainError {
  return unavailable(`The read model ${saidOf(readModel, progress)}. Try again when it is done.`, retryAfterSeconds);
}
