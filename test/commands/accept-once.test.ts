// Accepting under a key where several requests of one key come at the same moment, and one of them is refused for itself.

import { createHash } from 'node:crypto';

import { expect, it } from '@jest/globals';

import { openIdempotencyStore } from '../../src/adapters/sqlite/idempotency/store.ts';
import type { NotificationInput, Prepared } from '../../src/commands/accept-notification.ts';
import type { AcceptOnceDependencies } from '../../src/commands/accept-once.ts';
import { acceptOnce } from '../../src/commands/accept-once.ts';
import { lackingNames } from '../../src/domain/template.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import { noTrace } from '../../src/domain/trace-context.ts';

const input: NotificationInput = {
  tenantId: 'tnt_a' as TenantId,
  channel: 'IN_APP',
  recipient: 'ada',
  priority: 'DEFAULT',
  template: 'welcome',
  subject: null,
  body: null,
  data: null,
  dataText: '{}',
  metadata: {},
  strict: null,
  sendAt: null,
  expiry: null,
  replyTo: null,
  cc: [],
  bcc: [],
  transactional: false,
  resendOf: null,
  trace: noTrace,
};

const dependencies = (): AcceptOnceDependencies => ({
  keys: openIdempotencyStore({ path: ':memory:', history: { id: 'log', opening: '1', reachOf: () => null } }),
  async prepare(given) {
    if (given.strict === true) throw lackingNames(['name']);
    return { input: given } as Prepared;
  },
  append: async () => ({
    kind: 'durable',
    position: { topic: 'notifications.in-app.default', partition: 3, offset: 7 },
  }),
  records: { find: async () => null, findSurely: async () => null },
  digest: (text) => createHash('sha256').update(text).digest(),
  limiter: { take: async () => ({ allowed: true, remaining: 1, resetMs: 1 }) },
  keyLimit: { limit: 1000, windowMs: 1000 },
  clock: { now: () => Date.now(), monotonic: () => 0, sleep: () => Promise.resolve() } as never,
  logger: { warn: () => undefined },
});

it('what is refused for itself, by `strict`, takes none of its key with it that may be accepted, whichever comes first', async () => {
  const strictly = { ...input, strict: true };
  const outcomes: unknown[] = [];
  for (const inputs of [
    [strictly, input],
    [input, input],
    [strictly, strictly, input, input],
  ]) {
    const once = acceptOnce(dependencies());
    const settled = await Promise.allSettled(inputs.map((one) => once({ input: one, key: 'key', batchId: null })));
    outcomes.push(settled.map((one) => (one.status === 'fulfilled' ? one.value.isReplayed : one.reason.code)));
  }
  expect(outcomes).toEqual([
    ['BAD_REQUEST', false],
    [false, true],
    ['BAD_REQUEST', 'BAD_REQUEST', false, true],
  ]);
});

it('what would be refused is answered as the one of its key that is under way', async () => {
  const once = acceptOnce(dependencies());
  const ask = (strict: boolean) => once({ input: { ...input, strict }, key: 'key', batchId: null });
  const first = ask(false);
  const second = ask(true);
  expect((await first).isReplayed).toBe(false);
  expect(await second).toEqual({ ...(await first), isReplayed: true });
  expect(await ask(true)).toEqual(await second);
});
