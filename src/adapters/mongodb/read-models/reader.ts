// Read models in MongoDB for those who only ask.

import type { DocumentScan } from '../../../ports/document-scan.ts';
import type { ReadModelReader } from '../../../ports/read-model-store.ts';
import { createChanges } from './changes.ts';
import { createListeners } from './listeners.ts';
import { answers, createLifetime, whileOpen } from './open.ts';
import { createReading } from './reading.ts';
import { createScan } from './scan.ts';
import type { MongoReadModelOptions } from './store.ts';
import { createView } from './versions.ts';

/** Closing it leaves the connection open; closing the connection ends it. */
export function openMongoReadModelReader(
  options: MongoReadModelOptions,
): ReadModelReader & DocumentScan & { close(): void } {
  const { connection, clock, logger } = options;
  const { client, db } = connection;
  const { signal, end } = createLifetime(client);
  const listeners = createListeners();
  const view = createView(db, clock, listeners.changed);
  return {
    ...whileOpen(signal)({ ...createReading(db, view, clock), ...createScan(db, view) }),
    ...createChanges({ db, view, listeners, clock, logger, signal }),
    ready: () => answers(db, signal),
    close: end,
  };
}
