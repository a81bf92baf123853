// Reconciles the log with itself and with the read models, a partition number at a time: whatever was accepted has ended, or somebody will see to it.
//
//   positions ──> ends ──> the log of a number in order of time ──> ledger ──ended──> is it so in the records?
//                                                                     └─open at the end──> will its dispatcher send it, has it a timer?
//                                                                                           └─neither──> has nothing come since? ──> lost
//
// Positions are asked for before the log's ends, so that all that was done below them is in what is read.

import { isNotificationEvent } from '../domain/events.ts';
import type { NotificationId } from '../domain/ids.ts';
import { murmur2 } from '../domain/murmur.ts';
import { deliveriesTopic, workTopics } from '../domain/topics.ts';
import type { Topic } from '../domain/topics.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog, LogEntry, Position } from '../ports/event-log.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import { inOrderOfTime } from '../projections/in-order-of-time.ts';
import { notificationsReadModel } from '../projections/notifications/index.ts';
import type { Account } from './account.ts';
import { createAccount } from './account.ts';
import type { Known, Open } from './ledger.ts';
import { readForgotten } from './forgotten.ts';
import { createLedger } from './ledger.ts';
import type { Lacking } from './read-models.ts';
import { recordsLacking, timersLacking } from './read-models.ts';

export interface Gap {
  readonly kind: 'lost' | 'unseen';
  readonly notificationId: NotificationId;
  readonly tenantId: string;
  readonly why: string;
  /** Of what is lost: the event that nothing has followed, or will. */
  readonly since: Position | null;
}

export interface ReconcileDependencies {
  readonly log: Pick<EventLog, 'read' | 'ends' | 'committed' | 'partitioning'>;
  readonly reader: Pick<ReadModelReader, 'get' | 'positions'>;
  /** The group that dispatches a work topic. */
  groupOf(topic: Topic): string;
  readonly clock: Clock;
  /** What is younger, by the log's time, may be on its way and is no gap. */
  readonly youngerThanMs: number;
  /** Of notifications that haven't ended, in memory at once; where a number has more it is read in several passes, each for a share of the ids. */
  readonly openMax?: number;
  /** Told of each gap as it is found; its number is read no further until it resolves. */
  onGap(gap: Gap): Promise<void>;
  onProgress(done: number, total: number): void;
}

export interface Reconciled {
  readonly events: number;
  readonly account: Account;
}

const topics: readonly Topic[] = [...workTopics, deliveriesTopic];
/** Some 1 KiB each: 100 MiB. */
const defaultOpenMax = 100_000;
/** An id that is forgotten is some 100 bytes. */
const forgottenPerOpen = 10;
/** Named, of those of a pass that a read model lacks: where it lacks many, the figures say so. */
const unseenNamedMax = 100;
/** Read back at a time. */
const batchMax = 500;
const toldEvery = 1_000;

type Offsets = ReadonlyMap<Topic, number>;
type OnRead = (events: number) => void;

/** One number at the moment at which it is looked at. */
interface Moment {
  readonly partition: number;
  readonly committed: ReadonlyMap<Topic, number | null>;
  readonly folded: { readonly records: Offsets; readonly timers: Offsets };
  readonly ends: Offsets;
  readonly startedAt: number;
}

export async function reconcile(deps: ReconcileDependencies): Promise<Reconciled> {
  const { log, onProgress } = deps;
  const account = createAccount();
  const ends = await Promise.all(topics.map((topic) => log.ends(topic)));
  const total = ends.flat().reduce((sum, end) => sum + end, 0);
  let events = 0;
  const onRead: OnRead = (read) => {
    events += read;
    onProgress(Math.min(events, total), total);
  };
  for (let partition = 0; partition < log.partitioning.partitions; partition++) {
    const moment = await momentOf(deps, partition);
    account.addAll(await reconcileNumber(deps, moment, onRead));
  }
  return { events, account };
}

/** In one pass, or in as many as it takes for what is open to fit into memory. */
async function reconcileNumber(deps: ReconcileDependencies, moment: Moment, onRead: OnRead): Promise<Account> {
  for (let shards = 1; ; shards *= 2) {
    const account = createAccount();
    for (let shard = 0; shard < shards; shard++) {
      const isOfShard = (id: string) => murmur2(id) % shards === shard;
      const passed = await readThrough(deps, moment, isOfShard, onRead);
      if (passed === null) break;
      account.addAll(await settle(deps, moment, passed));
      if (shard === shards - 1) return account;
    }
  }
}

async function momentOf({ log, reader, groupOf, clock }: ReconcileDependencies, partition: number): Promise<Moment> {
  const startedAt = clock.now();
  const committed = new Map<Topic, number | null>();
  for (const topic of workTopics) {
    const positions = await log.committed(groupOf(topic), topic);
    committed.set(topic, positions[partition]?.offset ?? null);
  }
  const records = await reader.positions(notificationsReadModel.definition.name, partition);
  const timers = await reader.positions('timers', partition);
  return { partition, committed, folded: { records, timers }, ends: await endsOf(log, partition), startedAt };
}

async function endsOf(log: ReconcileDependencies['log'], partition: number): Promise<Offsets> {
  const ends = await Promise.all(topics.map((topic) => log.ends(topic)));
  return new Map(topics.map((topic, i) => [topic, ends[i]?.[partition] ?? 0]));
}

/** What the log of a number says, and what its records lack of what has ended. */
interface Passed {
  readonly account: Account;
  readonly unseen: Gap[];
  readonly open: readonly Open[];
}

/** Null when too many are open at once. */
async function readThrough(
  { log, reader, openMax = defaultOpenMax }: ReconcileDependencies,
  { partition, ends, folded }: Moment,
  isOfShard: (id: string) => boolean,
  onRead: OnRead,
): Promise<Passed | null> {
  const account = createAccount();
  const unseen: Gap[] = [];
  let ended: Known[] = [];
  const ledger = createLedger({
    accepted: (of) => account.add(of, 'accepted', 1),
    ended(of) {
      account.add(of, 'ended', 1);
      ended.push(of);
    },
    reopened: (of) => account.add(of, 'ended', -1),
  });
  const forgotten = await readForgotten(log, partition, isOfShard);
  if (forgotten.size > forgottenPerOpen * openMax) return null;
  const check = async (): Promise<void> => {
    const lacking = await recordsLacking(reader, folded.records, ended, 'ended');
    // What was forgotten since the log was read so far has its record no more.
    if (lacking.length > 0) await forgotten.update();
    noteUnseen(
      account,
      unseen,
      lacking.filter(({ of }) => !forgotten.has(of.id)),
    );
    ended = [];
  };
  let read = 0;
  for await (const entry of inOrderOfTime(log, partition, { from: new Map(), to: ends })) {
    if (isWanted(entry, (id) => isOfShard(id) && !forgotten.has(id))) ledger.takeIn(entry);
    if (ledger.size > openMax) return null;
    if (ended.length >= batchMax) await check();
    if (++read % toldEvery === 0) onRead(toldEvery);
  }
  onRead(read % toldEvery);
  await check();
  return { account, unseen, open: [...ledger.open()] };
}

function isWanted({ event }: LogEntry, isLookedAt: (id: NotificationId) => boolean): boolean {
  return event !== null && isNotificationEvent(event) && isLookedAt(event.notificationId);
}

/** Each is counted, the first ones are named. */
function noteUnseen(account: Account, unseen: Gap[], lacking: readonly Lacking[]): void {
  for (const { of, why } of lacking) {
    account.add(of, 'unseen', 1);
    if (unseen.length >= unseenNamedMax) continue;
    unseen.push({ kind: 'unseen', notificationId: of.id, tenantId: of.tenantId, why, since: null });
  }
}

/** What hasn't ended waits for somebody, or is lost. */
async function settle(deps: ReconcileDependencies, moment: Moment, passed: Passed): Promise<Account> {
  const { account, unseen, open } = passed;
  for (let at = 0; at < open.length; at += batchMax) {
    const batch = open.slice(at, at + batchMax);
    noteUnseen(account, unseen, await recordsLacking(deps.reader, moment.folded.records, batch, 'there'));
    const lost = await lostOf(deps, moment, batch);
    for (const one of batch) account.add(one, lost.has(one.id) ? 'lost' : 'waiting', 1);
    for (const { of, why } of lost.values()) {
      const since = of.waits?.since ?? null;
      await deps.onGap({ kind: 'lost', notificationId: of.id, tenantId: of.tenantId, why, since });
    }
  }
  for (const gap of unseen) await deps.onGap(gap);
  return account;
}

interface Lost {
  readonly of: Open;
  readonly why: string;
}

/** Those that nobody will see to. */
async function lostOf(deps: ReconcileDependencies, moment: Moment, open: readonly Open[]) {
  const { reader, youngerThanMs, groupOf } = deps;
  const isOld = ({ lastAt, waits }: Open) => Math.max(lastAt, waits?.dueAt ?? 0) < moment.startedAt - youngerThanMs;
  const old = open.filter(isOld);
  const lost = new Map<NotificationId, Lost>();
  for (const one of old) {
    if (one.waits?.for !== 'dispatcher') continue;
    const { topic, partition, offset } = one.waits.since;
    const committed = moment.committed.get(topic) ?? null;
    if (committed === null || offset >= committed) continue;
    lost.set(one.id, { of: one, why: `${groupOf(topic)} has passed over ${topic}/${partition}@${offset}` });
  }
  const onTimers = old.filter(({ waits }) => waits?.for === 'scheduler');
  for (const one of await timersLacking(reader, moment.folded.timers, onTimers)) {
    lost.set(one.id, { of: one, why: 'its timer is not there' });
  }
  if (lost.size > 0) await spareMoved(deps, moment, lost);
  return lost;
}

/** What has an event by now that it hadn't is on its way. */
async function spareMoved(
  { log }: ReconcileDependencies,
  { partition, ends: from }: Moment,
  lost: Map<NotificationId, Lost>,
): Promise<void> {
  const to = await endsOf(log, partition);
  for await (const { event } of inOrderOfTime(log, partition, { from, to })) {
    if (event !== null && isNotificationEvent(event)) lost.delete(event.notificationId);
  }
}
