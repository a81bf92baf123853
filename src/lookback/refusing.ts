// What commands would work with, where nothing may be changed: no route comes so far, and whatever did would be refused here.

import type { EventLog } from '../ports/event-log.ts';
import type { IdempotencyStore } from '../ports/idempotency-store.ts';
import type { JobStore } from '../ports/job-store.ts';
import { surveyed } from '../ports/log-survey.ts';
import type { ProviderCatalog, ProviderRegistry } from '../ports/provider-registry.ts';
import type { TemplateRenderer } from '../ports/template-renderer.ts';
import type { LogBeside } from './cut-log.ts';

export interface Refusing {
  readonly log: EventLog;
  readonly idempotency: IdempotencyStore;
  readonly jobs: JobStore;
  readonly registry: ProviderRegistry & ProviderCatalog;
  readonly renderer: TemplateRenderer;
}

/**
 * @param log ends where it is looked back to: it is read, and nothing is appended to it or comes to it
 * @param jobs those of the service, to be found
 * @param refused what everything else rejects with
 */
export function refusing(log: LogBeside, jobs: Pick<JobStore, 'find'>, refused: () => Error): Refusing {
  const refuse = () => Promise.reject(refused());
  const nothing = async () => undefined;
  const partitions = Array.from({ length: log.partitioning.partitions }, (_, partition) => partition);
  const notAppended = { kind: 'refused', reason: refused().message } as const;
  return {
    log: {
      ...log,
      append: async () => notAppended,
      appendAll: async (events) => events.map(() => notAppended),
      appendEncoded: async (_, { ends }) => ends.map(() => notAppended),
      // The first event is the first of any time.
      starts: (topic) => Promise.all(partitions.map((partition) => log.offsetAt(topic, partition, 0))),
      survey: (range) => surveyed(log.read(range), range),
      trim: refuse,
      // What is erased its events don't say; nothing is sent or reported to be asked about.
      isErased: () => false,
      isTenantErased: () => false,
      consume: refuse,
      tail: () => () => undefined,
      committed: async () => partitions.map(() => null),
      ready: async () => true,
      close: nothing,
    },
    idempotency: {
      reserve: refuse,
      find: refuse,
      takeOver: refuse,
      settle: refuse,
      release: refuse,
      removeTenant: refuse,
      close: nothing,
    },
    jobs: {
      find: jobs.find,
      listOpen: refuse,
      add: refuse,
      askStop: refuse,
      claim: refuse,
      leasesAfter: refuse,
      claimFrom: refuse,
      save: refuse,
      standing: refuse,
      removeAllBut: refuse,
      close: nothing,
    },
    registry: {
      find: () => null,
      builtIn: () => null,
      names: () => [],
      catalog() {
        throw refused();
      },
    },
    renderer: { check: refuse, render: refuse, preview: refuse, close: nothing },
  };
}
