// Of the scenarios in which nothing goes wrong: who had to wait for whom.

import { laneWeights } from '../../src/dispatchers/lanes.ts';
import type { Priority } from '../../src/domain/events.ts';
import { priorities } from '../../src/domain/events.ts';
import { assertNever } from '../../src/domain/assert-never.ts';
import { virtualMs } from './log.ts';
import type { Begun } from './witness.ts';
import { labelOf } from './witness.ts';
import type { World } from './world.ts';

export function fairnessOf(world: World): string[] {
  switch (world.plan.scenario) {
    case 'chaos':
    case 'erasures':
    case 'jobs':
    case 'keys':
    case 'moves':
    case 'retention':
      return [];
    case 'crowd':
      return crowdOf(world);
    case 'neighbours':
      return neighboursOf(world);
    case 'shares':
      return sharesOf(world);
    case 'lanes':
      return lanesOf(world);
    case 'rate':
      return ratesOf(world);
    default:
      return assertNever(world.plan.scenario);
  }
}

/** A poll, an append and a turn: nothing that a neighbour does is in it. */
const unmovedMs = 150;

function neighboursOf({ plan, witness }: World): string[] {
  const quick = plan.tenants.at(-1)?.id;
  return late(
    witness.begins.filter(({ work }) => work.tenantId === quick),
    unmovedMs,
  );
}

function late(begins: readonly Begun[], maxMs: number): string[] {
  return begins.flatMap(({ at, work }) => {
    const waitedMs = at - virtualMs(work.requestedAt);
    return waitedMs > maxMs ? [`${labelOf(work)} has waited ${waitedMs.toFixed(0)} ms for its neighbours`] : [];
  });
}

/** So many are made while the backlog is being read, of those that are there already: as many as there are slots, and some more. */
const firstStarts = 24;
const firstOf = ({ plan }: World): number => Math.max(firstStarts, plan.inFlightMax);

/** While all of them have work, tenants are served by their weights: within a tenth, and one turn; where that is a single start, one at either end. */
function sharesOf(world: World): string[] {
  const { plan, witness } = world;
  const begun = new Map(plan.tenants.map(({ id }) => [id, 0]));
  const each = plan.notifications.length / plan.tenants.length;
  const left = new Map(plan.tenants.map(({ id }) => [id, each]));
  for (const [n, { work }] of witness.begins.entries()) {
    left.set(work.tenantId, (left.get(work.tenantId) ?? 0) - 1);
    if (n >= firstOf(world)) begun.set(work.tenantId, (begun.get(work.tenantId) ?? 0) + 1);
    if (left.get(work.tenantId) === 0) break;
  }
  const weights = plan.tenants.reduce((sum, { weight }) => sum + weight, 0);
  const total = [...begun.values()].reduce((sum, count) => sum + count, 0);
  return plan.tenants.flatMap(({ id, weight }) => {
    const fair = (total * weight) / weights;
    const count = begun.get(id) ?? 0;
    return Math.abs(count - fair) > fair / 10 + Math.max(2, weight)
      ? [`${id} of weight ${weight} had ${count} of ${total} starts`]
      : [];
  });
}

/** While all lanes have work, they are served 70 : 25 : 5: within a twentieth of all, and one start. */
function lanesOf({ witness }: World): string[] {
  const counts: Record<Priority, number> = { HIGH: 0, DEFAULT: 0, BULK: 0 };
  const first = witness.begins.slice(firstStarts, firstStarts + 60);
  for (const { work } of first) counts[work.priority]++;
  return priorities.flatMap((priority) => {
    const fair = (first.length * laneWeights[priority]) / 100;
    const isFair = Math.abs(counts[priority] - fair) <= first.length / 20 + 1;
    return isFair ? [] : [`${priority} had ${counts[priority]} of ${first.length} starts`];
  });
}

/** One tenant uses up its rate and no more; the other doesn't notice. */
function ratesOf({ plan, witness }: World): string[] {
  const [limited, other] = plan.tenants;
  const rate = limited?.maxPerSecond ?? 1;
  const begins = witness.begins.filter(({ work }) => work.tenantId === limited?.id);
  const wrong = late(
    witness.begins.filter(({ work }) => work.tenantId === other?.id),
    unmovedMs,
  );
  // Each window begins with a look at the settings, by up to a tenth later than the first for what it owes other processes, and none later for what the one
  // before it was late by.
  for (let n = 0; n * rate < begins.length; n++) {
    const tookMs = (begins[n * rate]?.at ?? 0) - (begins[0]?.at ?? 0);
    const lateMs = tookMs - n * 1_000;
    if (lateMs < -50 || lateMs > 150)
      wrong.push(`window ${n} of ${rate} a second begins after ${tookMs.toFixed(0)} ms`);
  }
  return wrong;
}

/** More than was seen in some thousand of them, by a quarter or more; their windows are smaller than anybody's by a hundred times. */
const crowd = { littleMaxMs: 5_000, rateMaxPart: 2, rateMaxMs: 20_000, putOffMax: 24 } as const;
/** So many slots that nobody waits for one; and so few that whoever has a rate waits for one behind those that hang. */
const [manySlots, fewSlots] = [64, 8];

/** Where nothing goes wrong but receivers: who wants little and whose receiver answers isn't held up by the others, a rate is used up, and nothing is put off without end. */
function crowdOf({ plan, witness, brokers }: World): string[] {
  if (plan.faults.length > 0) return [];
  const putOff = Map.groupBy(
    brokers.all.flatMap(({ event }) => (event?.type === 'DeliveryDeferred' ? [event] : [])),
    ({ notificationId }) => notificationId,
  );
  const often = [...putOff].filter(([, events]) => events.length > crowd.putOffMax);
  const wrong = often.map(([id, { length }]) => `${id} was put off ${length} times`);
  for (const { id, maxPerSecond, answerMs, failing, down } of plan.tenants) {
    const begins = witness.begins.filter(({ work }) => work.tenantId === id);
    const requests = [...witness.all().values()].filter(({ tenantId }) => tenantId === id);
    if (maxPerSecond !== null) {
      const [from, to] = [
        Math.min(...requests.map(({ requestedAt }) => virtualMs(requestedAt))),
        begins.at(-1)?.at ?? 0,
      ];
      const maxMs = (requests.length / maxPerSecond) * 1_000 * crowd.rateMaxPart + crowd.rateMaxMs + lastWishOf(plan);
      if (plan.inFlightMax > fewSlots && to - from > maxMs)
        wrong.push(`${id}, ${requests.length} at ${maxPerSecond} a second, took ${(to - from).toFixed(0)} ms`);
      continue;
    }
    const wantsLittle = requests.length <= 6 && answerMs <= 50 && failing.hang === 0 && down === null;
    if (wantsLittle && plan.inFlightMax >= manySlots) wrong.push(...late(begins, crowd.littleMaxMs));
  }
  return wrong;
}

function lastWishOf({ notifications }: World['plan']): number {
  return Math.max(...notifications.map(({ at }) => at));
}
