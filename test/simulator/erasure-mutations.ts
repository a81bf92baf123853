// Deliberate faults of erasures, as mutations.ts has them of everything else.

import type { Mutation } from './mutations.ts';

export const erasureMutations: readonly Mutation[] = [
  {
    name: 'what waits in a lane when its recipient is erased is sent all the same',
    edits: [
      {
        file: 'dispatchers/executor.ts',
        from: 'isErased(event) || log.isErased(event.notificationId) || log.isTenantErased(event.tenantId);',
        to: 'isErased(event) || log.isTenantErased(event.tenantId);',
      },
    ],
  },
  {
    name: 'what waits in a lane when its tenant is erased is sent all the same',
    edits: [
      {
        file: 'dispatchers/executor.ts',
        from: 'isErased(event) || log.isErased(event.notificationId) || log.isTenantErased(event.tenantId);',
        to: 'isErased(event) || log.isErased(event.notificationId);',
      },
    ],
  },
  {
    name: 'a process does not read what was erased before it began',
    edits: [
      {
        file: 'adapters/kafka/erasures.ts',
        from: "await waitUntilUp('Kafka', createErasureReader(log), waiting);",
        to: "await waitUntilUp('Kafka', () => Promise.resolve(createErasureReader), waiting);",
      },
    ],
    unseen: 'too rare: 85 worlds with erasures did not find one; test/contracts/event-log.ts holds each log to it',
  },
  {
    name: 'erasures that others have said are not heard of',
    edits: [{ file: 'adapters/kafka/erasures.ts', from: '(entry) => void entry.event)', to: '(entry) => void entry)' }],
    unseen:
      'rare: one of 81 worlds with erasures found it, since a process that folds the same number hears of it by that as well',
  },
  {
    name: 'a record that is there already is not erased',
    edits: [{ file: 'projections/notifications/index.ts', from: ': erasedFacts(before));', to: ': before);' }],
  },
  {
    name: 'what was said to an erased recipient stays in its attempts',
    edits: [
      {
        file: 'domain/erasure.ts',
        from: 'attempts: facts.attempts.map(erasedAttempt)',
        to: 'attempts: facts.attempts',
      },
    ],
  },
  {
    name: 'the timers of an erased recipient keep what they would send',
    edits: [
      { file: 'projections/timers/index.ts', from: ': erasedTimers(document));', to: ': document);' },
      {
        file: 'projections/timers/index.ts',
        from: 'merged !== null && (isErased(event) || isErased(merged)) ? erasedTimers(merged) : merged;',
        to: 'merged;',
      },
    ],
  },
  {
    name: 'the search finds who is erased',
    edits: [
      {
        file: 'projections/search/index.ts',
        from: '?.tenantId === event.tenantId) documents.set(id, null);',
        to: '?.tenantId === event.eventId) documents.set(id, null);',
      },
    ],
  },
  {
    name: 'a fold goes on with what it had read of a tenant before it knew',
    edits: [
      {
        file: 'projections/partition-fold.ts',
        from: 'head === null || !ofErased.has(head.tenantId) || isNeverPassedOver(head.type);',
        to: 'head === null || ofErased.size >= 0 || isNeverPassedOver(head.type);',
      },
    ],
  },
  {
    name: 'an erasure takes what is requested later, too',
    edits: [
      {
        file: 'jobs/erasing.ts',
        from: 'return { channel, recipient, to: job.createdAt + 1 };',
        to: 'return { channel, recipient };',
      },
    ],
  },
  {
    name: 'an erasure ends with the first page of the records',
    edits: [
      {
        file: 'jobs/turn.ts',
        from: "if (next !== null) return { kind: 'after', key: next };",
        to: "if (next !== null && readOn === undefined) return { kind: 'after', key: next };",
      },
      {
        file: 'jobs/erasing.ts',
        from: 'const read = offset < end ?',
        to: 'const read = offset < end - end ?',
      },
    ],
  },
  {
    name: 'an erasure of a tenant removes every job of it, those that erase it as well',
    edits: [
      {
        file: 'commands/erase-tenant.ts',
        from: 'await jobs.removeAllBut(tenantId, wholeTenant);\n    await idempotency',
        to: 'await jobs.removeAllBut(tenantId, {});\n    await idempotency',
      },
    ],
  },
];
