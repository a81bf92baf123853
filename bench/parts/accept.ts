// Accepting: the api role alone and all roles, side by side with two apps that do nothing, in alternation so that a slow moment of the machine hits all.

import { addCost, spending } from '../cost.ts';
import type { CpuSpent } from '../cpu.ts';
import { addedUp, totalUs } from '../cpu.ts';
import { throughput } from '../over-time.ts';
import type { LoadEnd, LoadResult } from '../protocol.ts';
import { formatted, median } from '../results.ts';
import { loadFully, targetOf } from '../stage.ts';
import type { LoadedServer, Stage } from '../stage.ts';

interface Subject {
  readonly name: string;
  readonly server: LoadedServer & { readonly pid: number };
  /** null: isn't profiled. */
  readonly inspectorUrl: string | null;
  /** Waits until nothing of the round is left to be done. */
  readonly settle: () => Promise<void>;
}

interface Round {
  readonly result: LoadResult;
  readonly spent: CpuSpent | null;
}

export async function measureAccept(stage: Stage): Promise<void> {
  const { rounds, round: until, warmUp } = stage.sizes.accept;
  const subjects = await subjectsOf(stage);
  const measured = new Map<string, Round[]>(subjects.map(({ name }) => [name, []]));
  for (let round = 0; round <= rounds; round++) {
    for (const subject of subjects) {
      const { name } = subject;
      const inspectorUrl = round === rounds ? subject.inspectorUrl : null;
      const one = await loadFor(stage, { ...subject, inspectorUrl }, round === 0 ? warmUp : until);
      const { perSecond, latencyMs } = one.result;
      stage.results.progress(
        `accept ${round === 0 ? 'warm-up' : `round ${round}`}: ${name} ${formatted(perSecond)}/s, p99 ${formatted(latencyMs.p99)} ms`,
      );
      if (round > 0) measured.get(name)?.push(one);
    }
  }
  report(stage, measured);
}

/** Of the empty app (a), measured alone: what other parts compare with. */
export interface ExpressFigures {
  readonly perSecond: number;
  /** null where the system doesn't tell. */
  readonly requestUs: number | null;
}

export async function measureExpress(stage: Stage): Promise<ExpressFigures> {
  const { round, warmUp } = stage.sizes.accept;
  const subject = await expressOf(stage);
  await loadFor(stage, subject, warmUp);
  const { result, spent } = await loadFor(stage, subject, round);
  return { perSecond: result.perSecond, requestUs: spent === null ? null : totalUs(spent) / result.answers };
}

async function expressOf(stage: Stage): Promise<Subject> {
  const server = await stage.reference('express');
  return { name: 'express', server, inspectorUrl: null, settle: () => Promise.resolve() };
}

async function subjectsOf(stage: Stage): Promise<Subject[]> {
  const api = await stage.apiAlone();
  const all = await stage.allRoles();
  return [
    await expressOf(stage),
    { ...(await expressOf(stage)), name: 'node:http', server: await stage.reference('http') },
    { name: 'herald --role api', server: api, inspectorUrl: api.inspectorUrl, settle: api.settle },
    { name: 'herald, all roles', server: all, inspectorUrl: all.inspectorUrl, settle: all.settle },
  ];
}

async function loadFor(stage: Stage, { name, server, inspectorUrl, settle }: Subject, until: LoadEnd): Promise<Round> {
  return spending(stage, { pid: server.pid, inspectorUrl, name: `accept ${name}` }, async () => {
    const result = await loadFully(stage, targetOf(stage, server), until);
    await settle();
    return result;
  });
}

function report(stage: Stage, measured: ReadonlyMap<string, readonly Round[]>): void {
  const { results } = stage;
  const { targets } = stage.engines;
  const rate = (name: string) => median((measured.get(name) ?? []).map(({ result }) => result.perSecond));
  const answers = (name: string) => (measured.get(name) ?? []).reduce((sum, { result }) => sum + result.answers, 0);
  for (const [name, rounds] of measured) {
    results.add(`accept: ${name}`, rate(name), 'req/s');
    results.add(`accept: ${name}, p99`, median(rounds.map(({ result }) => result.latencyMs.p99)), 'ms');
    const moments = rounds.flatMap(({ result }) => result.overTime.slice(1, -1));
    results.addSeries(throughput('accepted a second, round after round', name, moments));
  }
  const ratio = (name: string) => rate(name) / rate('express');
  results.add('accept: --role api / express', ratio('herald --role api'), 'x', targets.apiToExpress);
  results.add('accept: all roles / express', ratio('herald, all roles'), 'x', targets.allRolesToExpress);
  const spentBy = (name: string) => (measured.get(name) ?? []).map(({ spent }) => spent);
  const express = spentBy('express').filter((spent) => spent !== null);
  const requestUs = express.length === 0 ? null : totalUs(addedUp(express)) / answers('express');
  addCost(stage, 'a request of the empty Express', spentBy('express'), answers('express'), null);
  addCost(stage, 'accepting, --role api', spentBy('herald --role api'), answers('herald --role api'), requestUs);
  addCost(
    stage,
    'accepting and all behind it, all roles',
    spentBy('herald, all roles'),
    answers('herald, all roles'),
    requestUs,
  );
}
