// Accepting: the api role alone and all roles, side by side with two apps that do nothing, in alternation so that a slow moment of the machine hits all.

import { formatted, median } from '../results.ts';
import { loadFully } from '../stage.ts';
import type { Stage } from '../stage.ts';

interface Subject {
  readonly name: string;
  readonly server: { readonly port: number; readonly apiKeys?: readonly string[] };
  /** Waits until nothing of the round is left to be done. */
  readonly settle: () => Promise<void>;
}

const rounds = 3;
const roundMs = 5000;
const warmUpMs = 2000;

export async function measureAccept(stage: Stage): Promise<void> {
  const subjects = await subjectsOf(stage);
  const perSecond = new Map<string, number[]>();
  const p99 = new Map<string, number[]>();
  for (let round = 0; round <= rounds; round++) {
    const durationMs = round === 0 ? warmUpMs : roundMs;
    for (const { name, server, settle } of subjects) {
      const result = await loadFully(stage, server, { kind: 'after', durationMs });
      await settle();
      stage.results.progress(
        `accept ${round === 0 ? 'warm-up' : `round ${round}`}: ${name} ${formatted(result.perSecond)}/s, p99 ${formatted(result.latencyMs.p99)} ms`,
      );
      if (round === 0) continue;
      append(perSecond, name, result.perSecond);
      append(p99, name, result.latencyMs.p99);
    }
  }
  report(
    stage,
    (name) => median(perSecond.get(name) ?? []),
    (name) => median(p99.get(name) ?? []),
  );
}

/** Requests per second of reference (a), measured alone: what other parts compare with. */
export async function measureExpress(stage: Stage): Promise<number> {
  const app = await stage.reference('express');
  await loadFully(stage, app, { kind: 'after', durationMs: warmUpMs });
  return (await loadFully(stage, app, { kind: 'after', durationMs: roundMs })).perSecond;
}

async function subjectsOf(stage: Stage): Promise<Subject[]> {
  const nothingLeft = () => Promise.resolve();
  const api = await stage.apiAlone();
  const all = await stage.allRoles();
  return [
    { name: 'express', server: await stage.reference('express'), settle: nothingLeft },
    { name: 'node:http', server: await stage.reference('http'), settle: nothingLeft },
    { name: 'herald --role api', server: api, settle: api.settle },
    { name: 'herald, all roles', server: all, settle: all.settle },
  ];
}

function report(stage: Stage, rate: (name: string) => number, p99: (name: string) => number): void {
  const { results } = stage;
  const { targets } = stage.engines;
  for (const name of ['express', 'node:http', 'herald --role api', 'herald, all roles']) {
    results.add(`accept: ${name}`, rate(name), 'req/s');
    results.add(`accept: ${name}, p99`, p99(name), 'ms');
  }
  results.add('accept: --role api / express', rate('herald --role api') / rate('express'), 'x', targets.apiToExpress);
  results.add(
    'accept: all roles / express',
    rate('herald, all roles') / rate('express'),
    'x',
    targets.allRolesToExpress,
  );
}

function append(lists: Map<string, number[]>, name: string, value: number): void {
  lists.set(name, [...(lists.get(name) ?? []), value]);
}
