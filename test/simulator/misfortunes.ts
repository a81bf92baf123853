// What goes wrong in a world.

import { assertNever } from '../../src/domain/assert-never.ts';
import type { Node } from './node.ts';
import type { Fault } from './plan.ts';
import type { World } from './world.ts';

const machinesMax = 4;
/** Within so long a group notices that a member is gone, and somebody starts another process in its place. */
const noticedMaxMs = 3_000;
const startedMaxMs = 1_500;

export function applyFault(world: World, fault: Fault): void {
  const { time, random, trace, brokers, faults, nodes } = world;
  const alive = nodes.filter(({ machine }) => machine.isAlive);
  const node = alive[fault.machine % Math.max(alive.length, 1)];
  const { forMs, oneIn } = fault;
  const until = time.now + forMs;
  trace('fault', fault.kind, node?.machine.name ?? '', forMs, oneIn);
  const startSoon = () => void time.after(random.next() * startedMaxMs, () => void world.start());
  switch (fault.kind) {
    case 'kill':
      if (node === undefined) return;
      node.machine.kill();
      time.after(random.next() * noticedMaxMs, () => evictAll(world, node));
      return startSoon();
    case 'restart':
      if (node !== undefined) void stopped(world, node);
      return startSoon();
    case 'start':
      if (alive.length < machinesMax) world.start();
      return;
    case 'freeze':
      return node?.machine.freeze(forMs);
    case 'cut':
      return node?.machine.cut(forMs, oneIn);
    case 'slow':
      return node?.machine.slow(forMs, oneIn * 400);
    case 'appends fail':
      [faults.appendsFailUntil, faults.failOneIn] = [until, oneIn];
      return;
    case 'store fails':
      [faults.failsUntil, faults.failOneIn] = [until, oneIn];
      return;
    case 'settings fail':
      faults.failUntil = until;
      return;
    case 'evict':
      if (node !== undefined) random.of([...brokers.groups.values()]).evict(node.machine.name);
      return;
    case 'leaders move':
      return brokers.moveLeaders();
    case 'group anew':
      return random.of([...brokers.groups.values()]).forgetAll();
    default:
      return assertNever(fault.kind);
  }
}

async function stopped({ witness }: World, node: Node): Promise<void> {
  try {
    await node.stop();
  } catch (err) {
    witness.problems.push(`${node.machine.name} could not be stopped: ${String(err)}`);
  }
}

function evictAll({ brokers }: World, { machine }: Node): void {
  for (const group of brokers.groups.values()) group.evict(machine.name);
}
