// How long a thread is held at most while something is done: every turn of its event loop is measured, by the clock and by the processor time that it took.

export interface LongestTurn {
  /** By the clock, ms: what others on the machine take is in it. */
  readonly wallMs: number;
  /** Of this thread's processor time, ms. */
  readonly cpuMs: number;
  /** The same of the longest turn but one: the system takes what it does for itself on a thread's account, a tenth of a second of it now and then. */
  readonly nextCpuMs: number;
  readonly turns: number;
}

export async function longestTurnOf(work: () => Promise<unknown>): Promise<LongestTurn> {
  let [wallMs, cpuMs, nextCpuMs, turns] = [0, 0, 0, 0];
  let isOver = false;
  let from = { wall: performance.now(), cpu: process.threadCpuUsage() };
  const turn = (): void => {
    const cpu = process.threadCpuUsage();
    const wall = performance.now();
    wallMs = Math.max(wallMs, wall - from.wall);
    const tookMs = (cpu.user + cpu.system - from.cpu.user - from.cpu.system) / 1000;
    nextCpuMs = Math.max(nextCpuMs, Math.min(cpuMs, tookMs));
    cpuMs = Math.max(cpuMs, tookMs);
    turns++;
    from = { wall: performance.now(), cpu: process.threadCpuUsage() };
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  try {
    await work();
  } finally {
    isOver = true;
  }
  return { wallMs, cpuMs, nextCpuMs, turns };
}
