// Posts at a rate and asks all the while; each answer is held against what was posted and what was answered before.

import type { Herald } from './herald.ts';
import type { Poster } from './posting.ts';

export interface Traffic {
  readonly poster: Poster;
  readonly herald: Herald;
  readonly perSecond: number;
  /** Notifications of the tenant that were there, all of them delivered. */
  readonly before: number;
  /** What was accepted so long ago is in every answer; a read waits 2 s at most for what a busy machine hasn't folded. */
  readonly lagMaxMs: number;
  isOver(): boolean;
}

export interface Told {
  /** By the id of what was accepted: its recipient. */
  readonly accepted: ReadonlyMap<string, string>;
  readonly asked: number;
  readonly slowestMs: number;
  /** Answers that failed, or said less or other than what was so: a sentence each. */
  readonly wrong: readonly string[];
}

interface Telling {
  readonly accepted: Map<string, string>;
  /** Those that every answer has, in their order. */
  readonly ids: string[];
  readonly wrong: string[];
  sent: number;
  asked: number;
  slowestMs: number;
}

const beatMs = 20;
const askers = 2;

export async function answersUnderTraffic(traffic: Traffic): Promise<Told> {
  const telling: Telling = { accepted: new Map(), ids: [], wrong: [], sent: 0, asked: 0, slowestMs: 0 };
  const asking = Array.from({ length: askers }, () => ask(traffic, telling));
  await Promise.all([post(traffic, telling), ...asking]);
  return telling;
}

async function post({ poster, herald, perSecond, before, lagMaxMs, isOver }: Traffic, telling: Telling): Promise<void> {
  const begunAt = performance.now();
  const posting: Promise<void>[] = [];
  const postOne = async (): Promise<void> => {
    // Nobody else's, of an earlier traffic neither.
    const recipient = `user-${before}-${telling.sent++}`;
    const { status, id } = await poster.post(herald, { channel: 'IN_APP', recipient, body: 'meanwhile' });
    if (id === null) telling.wrong.push(`a notification was answered with ${status}`);
    else {
      telling.accepted.set(id, recipient);
      setTimeout(() => telling.ids.push(id), lagMaxMs);
    }
  };
  while (!isOver()) {
    const due = ((performance.now() - begunAt) / 1000) * perSecond;
    while (telling.sent < due) posting.push(postOne());
    await new Promise((resolve) => setTimeout(resolve, beatMs));
  }
  await Promise.all(posting);
}

/** One question after another, so that none may know less than the one before. */
async function ask(traffic: Traffic, telling: Telling): Promise<void> {
  const progress = new Map<string, number>();
  let total = 0;
  while (!traffic.isOver()) {
    total = await askStatistics(traffic, telling, total);
    await askRecord(traffic, telling, progress);
    await askList(traffic, telling);
    // Without a rest they would take what fills the read model most of the processor.
    await new Promise((resolve) => setTimeout(resolve, beatMs));
  }
}

async function askStatistics(traffic: Traffic, telling: Telling, seen: number): Promise<number> {
  const least = Math.max(seen, traffic.before + telling.ids.length);
  const body = await answerOf(traffic, telling, '/dashboard/stats?range=all');
  if (body === null) return seen;
  const total = Number(body['total']);
  const counts = Object.values(body['statusCounts'] as Record<string, number>);
  const sum = counts.reduce((a, b) => a + b, 0);
  const most = traffic.before + telling.sent;
  if (total < least || total > most) telling.wrong.push(`${total} notifications, and there were ${least} to ${most}`);
  if (sum !== total) telling.wrong.push(`${sum} by status are ${total} together`);
  return total;
}

const statuses = ['QUEUED', 'SENDING', 'DELIVERED'];

/** A status never goes back. */
async function askRecord(traffic: Traffic, telling: Telling, progress: Map<string, number>): Promise<void> {
  const id = recentOf(telling);
  if (id === undefined) return;
  const body = await answerOf(traffic, telling, `/notifications/${id}`);
  if (body === null) return;
  const { recipient, status } = body['notification'] as { recipient: string; status: string };
  if (recipient !== telling.accepted.get(id)) telling.wrong.push(`${id} is for ${recipient}`);
  const reached = statuses.indexOf(status);
  if (reached < (progress.get(id) ?? 0)) telling.wrong.push(`${id} went back to ${status}`);
  progress.set(id, reached);
}

/** Exactly one is for its recipient. */
async function askList(traffic: Traffic, telling: Telling): Promise<void> {
  const id = recentOf(telling);
  if (id === undefined) return;
  const body = await answerOf(traffic, telling, `/notifications?recipient=${telling.accepted.get(id)}`);
  if (body === null) return;
  const found = (body['data'] as { id: string }[]).map((record) => record.id);
  if (found.length !== 1 || found[0] !== id) telling.wrong.push(`of ${id} the list has ${found.join(', ')}`);
}

/** Of the newest more often than of others. */
function recentOf({ ids }: Telling): string | undefined {
  return ids[Math.floor(ids.length * Math.sqrt(Math.random()))];
}

async function answerOf({ herald }: Traffic, telling: Telling, path: string): Promise<Record<string, unknown> | null> {
  const askedAt = performance.now();
  const { status, body } = await herald.dashboard('GET', path);
  telling.asked++;
  telling.slowestMs = Math.max(telling.slowestMs, performance.now() - askedAt);
  if (status === 200) return body;
  telling.wrong.push(`${path} was answered with ${status}: ${JSON.stringify(body)}`);
  return null;
}
