// What delivering needs of the stores, asked for from another thread: answers, failures, and whom to forget.

import { afterEach, expect, it } from '@jest/globals';

import type { DeliveryStores, RemoteStores, StoresHost } from '../../../src/adapters/node/delivery-port.ts';
import { askStores, hostStores } from '../../../src/adapters/node/delivery-port.ts';
import type { NotificationId, TenantId } from '../../../src/domain/ids.ts';
import type { BreakerNote } from '../../../src/ports/settings-store.ts';

const [anna, bob] = ['anna', 'bob'] as TenantId[] as [TenantId, TenantId];
const nothing: DeliveryStores['settings'] = {
  settings: async () => null,
  changesSince: async (revision) => ({ revision, tenantIds: [] }),
  noteBreakers: async () => {},
};
let host: StoresHost;
let remote: RemoteStores;
let forgotten: TenantId[];

function connect(store: Partial<DeliveryStores['settings']>): void {
  forgotten = [];
  const asked: DeliveryStores['cancels']['asked'] = async (round, waiting) =>
    waiting.map((notificationId) => ({ notificationId, round }));
  const ended: DeliveryStores['cancels']['ended'] = async (due) => due.slice(1);
  host = hostStores({ settings: { ...nothing, ...store }, cancels: { asked, ended } });
  remote = askStores(host.shared, (tenantId) => forgotten.push(tenantId));
}

afterEach(() => {
  remote.close();
  host.close();
});

it('answers what the store answers, each question its own, in whatever order the answers come', async () => {
  const first = Promise.withResolvers<void>();
  const notes: BreakerNote[] = [];
  connect({
    async changesSince(revision) {
      if (revision === 1) await first.promise;
      return { revision: revision + 10, tenantIds: [anna] };
    },
    async noteBreakers(given) {
      notes.push(...given);
    },
  });
  const slow = remote.settings.changesSince(1);
  expect(await remote.settings.changesSince(2)).toEqual({ revision: 12, tenantIds: [anna] });
  expect(await remote.settings.settings(anna)).toBeNull();
  const note: BreakerNote = { tenantId: bob, channel: 'EMAIL', role: 'primary', until: 5 };
  await remote.settings.noteBreakers([note]);
  expect(notes).toEqual([note]);
  expect(await remote.cancels.asked(7, ['notif_1' as NotificationId])).toEqual([
    { notificationId: 'notif_1', round: 7 },
  ]);
  const due = ['notif_1', 'notif_2'].map((id) => ({ notificationId: id as NotificationId, round: 1, attempt: 2 }));
  expect(await remote.cancels.ended(due)).toEqual(due.slice(1));
  first.resolve();
  expect(await slow).toEqual({ revision: 11, tenantIds: [anna] });
});

it('rejects with the reason why the store did, and goes on', async () => {
  connect({ settings: () => Promise.reject(new Error('the disk is gone')) });
  await expect(remote.settings.settings(anna)).rejects.toThrow('the disk is gone');
  expect(await remote.settings.changesSince(3)).toEqual({ revision: 3, tenantIds: [] });
});

it('has heard whom to forget before the next look, without a turn of the event loop', () => {
  connect({});
  host.forget(anna);
  host.forget(bob);
  expect(forgotten).toEqual([]);
  remote.hear();
  expect(forgotten).toEqual([anna, bob]);
  remote.hear();
  expect(forgotten).toEqual([anna, bob]);
});

it('takes in answers that stand before it, so that none is lost', async () => {
  connect({ settings: () => Promise.reject(new Error('away')) });
  const answer = remote.settings.settings(anna);
  const failed = expect(answer).rejects.toThrow('away');
  // The question is answered in the host's turns; then both stand in the queue, and are taken together.
  await new Promise((resolve) => setImmediate(resolve));
  host.forget(bob);
  remote.hear();
  expect(forgotten).toEqual([bob]);
  await failed;
});

it('rejects what waits, and what is asked later, once the other end is closed', async () => {
  connect({ settings: () => new Promise(() => {}) });
  const waiting = expect(remote.settings.settings(anna)).rejects.toThrow('the thread that has the stores ended');
  host.close();
  await waiting;
  await expect(remote.settings.changesSince(1)).rejects.toThrow('the thread that has the stores ended');
});
