// The simulator: Herald's own dispatcher, scheduler, jobs and folds, with its own reading of Kafka below them, on a virtual clock and a log in memory.
//
//   SIM_SEEDS=10000 npm test -- test/simulator                    so many seeds (1,000 without it)
//   SIM_SEEDS=10000 SIM_SECONDS=120 npm test -- test/simulator    as CI runs it: on a slow machine as many of them as two minutes hold; says how many that were
//   SIM_SEED=4711 npm test -- test/simulator                      one seed; prints everything that happened in it
//   SIM_FROM=1000001 SIM_SEEDS=20000 npm test -- test/simulator   others than the first ones: who looks for what nobody has found; from a million on all are storms, from two crowds
//
// A seed stands for a world (plan.ts): tenants whose receivers are quick, slow, failing or silent, who flood, have a rate, a weight, large bodies, who cancel,
// send again and erase, one or many at once, ask with Idempotency-Keys until they are answered, and have a second provider for while the first one is down; one to
// four processes (node.ts), and what goes wrong: kills, freezes, restarts and members that are left out between any two steps, connections that lose
// questions or answers, brokers, stores and settings that fail, with ends that aren't known, keys that are lost. In some what has ended goes after half a
// minute. From some time on nothing goes wrong any more, and a minute later at most everything must have come to its end.
//
//   plan ──> world ──> nodes: dispatcher, scheduler, jobs, projector    everything real down to here
//              │         └── consumers, claims, readers, fetchers ──┐
//              │                                                   v
//              ├── virtual time <── machine: clock, connections ──> brokers, groups, store, receivers     simulated
//              └── witness: sees every append and attempt ──> verdict
//
// Always (witness.ts): no attempt whose outcome was in the log when its number was taken, or was said by the same process; none twice at once in a process, of
// a number that is lost, before it is due, above a cap or a rate, or by a process that its group may have taken for dead; what a commit says to be finished stays
// so (commits.ts); records that are folded anew while they serve are swapped in where the others stand, with the same documents (versions.ts). At the end
// (verdict.ts): nothing is lost or stuck, commits and positions are at the log's ends, each timer fired or was cancelled, records are the same in whatever order the log is folded,
// statistics are what the records say; each job has done what it was to do, to each notification once, at its rate, and counts it (jobs.ts); each key is one
// notification, of what its first caller asked for, and in the log once somebody was told so (keys.ts); what has ended is forgotten, nothing that waits is, days go
// on counting all of it, and the log has lost it (retention.ts). Where nothing goes wrong (fairness.ts): shares, lanes and rates are kept, neighbours aren't
// noticed, a move repeats nothing, what has no room in the log has its turn. Where recipients and tenants are erased
// (erasures.ts, erasure-verdict.ts): nothing of them is sent by whoever knows it, started later or had the time to hear of it, no document shows what was gone
// from it; at the end all are forgotten that had been asked for by then and nobody else, a log folded anew gives the same, and what is counted stayed.
//
// Everything follows from the seed: one random generator, time that jumps to whatever is due next, and promises that are done before it does. So there is
// nothing of the machine in a failure, and it comes again: SIM_SEED prints what led to it. mutations.ts are faults that it has to find.

import { describe, expect, it } from '@jest/globals';

import { replayed, runSeeds } from './running.ts';
import { crowdsFrom } from './crowds.ts';
import { stormsFrom } from './storms.ts';

/** However slow a machine is. */
const seedsMin = 1_000;
const seeds = Number(process.env['SIM_SEEDS'] ?? seedsMin);
/** null: as long as it takes. */
const seconds = process.env['SIM_SECONDS'] === undefined ? null : Number(process.env['SIM_SECONDS']);
const one = process.env['SIM_SEED'];
/** The first seed of those that are no storms, or of all. */
const from = Number(process.env['SIM_FROM'] ?? '1');
/** One in so many is a storm (storms.ts), or a crowd (crowds.ts); they come first, so that each run has some. */
const oneStormIn = 50;
const oneCrowdIn = 200;
/** Processes that run seeds side by side. */
const sideBySide = 2;
/** A hundred times what it takes. */
const timeoutMs = 3 * 60 * 60 * 1000;

describe('a simulated Herald', () => {
  if (one !== undefined) {
    it(
      `keeps its promises in seed ${one}`,
      async () => {
        const trace = await replayed(Number(one));
        process.stdout.write(trace);
        expect(trace.trim().split('\n').at(-1)).toBe('{"problems":[]}');
      },
      timeoutMs,
    );
    return;
  }

  it(
    `keeps its promises in ${seeds} worlds${seconds === null ? '' : `, or in as many as ${seconds} s hold`}`,
    async () => {
      const partOf = (oneIn: number) => (from < stormsFrom ? Math.ceil(seeds / oneIn / sideBySide) : 0);
      const [storms, crowds] = [partOf(oneStormIn), partOf(oneCrowdIn)];
      const each = Math.ceil(seeds / sideBySide) - storms - crowds;
      const begun = performance.now();
      const secondsGone = () => (performance.now() - begun) / 1000;
      const runSide = async (n: number) => {
        const first = [];
        if (storms > 0) first.push(await runSeeds(stormsFrom + 1 + n * storms, storms));
        if (crowds > 0) first.push(await runSeeds(crowdsFrom + 1 + n * crowds, crowds));
        const min = seedsMin / sideBySide - storms - crowds;
        const within = seconds === null ? null : { seconds: seconds - secondsGone(), min };
        return [...first, await runSeeds(from + n * each, each, { within })];
      };
      const ran = (await Promise.all(Array.from({ length: sideBySide }, (_, n) => runSide(n)))).flat();
      const count = ran.reduce((sum, of) => sum + of.seeds, 0);
      const tookSeconds = Math.round(secondsGone());
      process.stderr.write(`simulator: ${count} of ${seeds} worlds in ${tookSeconds} s\n`);
      const failed = ran.flatMap((of) => of.failed);
      expect(
        failed.map(({ seed, scenario, problems }) => `SIM_SEED=${seed} (${scenario}): ${problems.join('; ')}`),
      ).toEqual([]);
      expect(count).toBeGreaterThanOrEqual(seconds === null ? seeds : Math.min(seeds, seedsMin));
    },
    timeoutMs,
  );

  it(
    'does the same for the same seed, in whatever process',
    async () => {
      const [first, second] = await Promise.all([runSeeds(1, 20), runSeeds(1, 20)]);
      expect(second).toMatchObject({ digest: first.digest, steps: first.steps, events: first.events });
      expect(await replayed(7)).toBe(await replayed(7));
    },
    timeoutMs,
  );
});
