// Runs seeds and prints what became of them, a line of JSON each that failed and one for all: what the tests start, on a Node of its own.
//
//   seeds.ts FROM COUNT [MUTATION]            the first failure ends it when a mutation is named
//   seeds.ts FROM COUNT --seconds=S --min=N   after S seconds none begins, once N have run
//   seeds.ts replay SEED [MUTATION]           one seed with everything that happens

import { enableCompileCache, registerHooks } from 'node:module';
import { parseArgs } from 'node:util';

import { mutations, mutated } from './mutations.ts';

// Each mutation has a process of its own, which lives for a second: half of that was compiling what the one before had compiled.
enableCompileCache();
const { positionals, values } = parseArgs({
  options: { seconds: { type: 'string', default: 'Infinity' }, min: { type: 'string', default: '0' } },
  allowPositionals: true,
});
const [command = '1', argument = '1', mutationName] = positionals;
const [secondsMax, countMin] = [Number(values.seconds), Number(values.min)];
const mutation = mutations.find(({ name }) => name === mutationName);
if (mutationName !== undefined && mutation === undefined) throw new Error(`there is no mutation named ${mutationName}`);
if (mutation !== undefined) {
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      const [, file = ''] = url.split('/src/');
      if (!mutation.edits.some((edit) => edit.file === file)) return loaded;
      return { ...loaded, source: mutated(mutation, file, Buffer.from(loaded.source as Uint8Array).toString()) };
    },
  });
}

// Errors are thrown by the thousand, and their stacks are for whoever replays.
if (command !== 'replay') Error.stackTraceLimit = 0;
const { runSeed } = await import('./world.ts');
const say = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);

if (command === 'replay') {
  const { problems } = await runSeed(Number(argument), (line) => process.stdout.write(`${line}\n`));
  say({ problems });
} else {
  await runAll(Number(command), Number(argument));
}

async function runAll(from: number, count: number): Promise<void> {
  const begun = performance.now();
  let [seeds, failed, steps, events, digest] = [0, 0, 0, 0, 0];
  const hasTime = () => seeds < countMin || performance.now() - begun < secondsMax * 1000;
  for (let seed = from; seed < from + count && hasTime(); seed++) {
    const ran = await runSeed(seed);
    seeds++;
    steps += ran.steps;
    events += ran.events;
    digest = (Math.imul(digest, 31) + ran.digest) | 0;
    if (ran.problems.length === 0) continue;
    failed++;
    const { scenario, problems } = ran;
    say({ seed, scenario, problems: problems.slice(0, 5) });
    if (mutation !== undefined) break;
  }
  say({ seeds, failed, steps, events, digest, tookMs: Math.round(performance.now() - begun) });
}
