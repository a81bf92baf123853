// Deliberate faults of Idempotency-Keys, as mutations.ts has them of everything else.

import type { Mutation } from './mutations.ts';

export const keyMutations: readonly Mutation[] = [
  {
    name: 'what is asked for under a key is not compared with what was',
    edits: [
      {
        file: 'commands/accept-once.ts',
        from: 'if (fingerprintOf(input, entry.requestedAt) !== entry.fingerprint) throw keyReused();',
        to: '',
      },
    ],
  },
  {
    name: 'whoever asks for something else while a key is under way is given what the other one is',
    edits: [{ file: 'commands/accept-once.ts', from: 'if (other.content === content) return', to: 'return' }],
  },
  {
    name: 'a key whose process was killed is nobody’s',
    edits: [{ file: 'commands/accept-once.ts', from: 'if (leftMs === 0) {', to: 'if (leftMs < 0) {' }],
  },
  {
    name: 'a key that was taken by a clock that was ahead is nobody else’s until then',
    edits: [
      {
        file: 'domain/lease.ts',
        from: 'return left > leaseMs + clocksDifferMs ? 0 : Math.max(0, left);',
        to: 'return left > leaseMs + clocksDifferMs + Infinity ? 0 : Math.max(0, left);',
      },
    ],
  },
  {
    name: 'what was asked for yesterday is not looked for where the keys are lost',
    edits: [
      {
        file: 'commands/accept-once.ts',
        from: 'clocksDifferMs, now, now - keyLifetimeMs];',
        to: 'clocksDifferMs, now];',
      },
    ],
  },
  {
    name: 'where the keys are lost nobody looks into the records',
    edits: [{ file: 'commands/accept-once.ts', from: 'if (before !== null) return settledBy(under, before);', to: '' }],
  },
  {
    name: 'a key is settled before its notification is in the log',
    edits: [
      {
        file: 'commands/accept-once.ts',
        from: 'const result = await append(prepared, { notificationId, requestedAt, batchId });',
        to: "await settle({ ...entry, leaseUntil: null, position: { topic: 'notifications.webhook.high', partition: 0, offset: 0 } });\n    const result = await append(prepared, { notificationId, requestedAt, batchId });",
      },
    ],
  },
  {
    name: 'the id of a notification with a key does not follow from it',
    edits: [
      {
        file: 'commands/accept-once.ts',
        from: 'notificationId: idOfKey(keyHash, now, digest),',
        to: 'notificationId: idOfKey(String(clock.random()), now, digest),',
      },
    ],
  },
];
