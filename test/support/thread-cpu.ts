// What one request may take of the main thread, in tests.

/**
 * ms of processor time. 10 are aimed at and 50 promised: HERALD_TEST_CPU_MS=50 on a quiet machine. Without it what would stop a service fails (seconds), not a
 * machine that is slow or a compiler that is cold.
 */
export const threadCpuMsMax = Number(process.env['HERALD_TEST_CPU_MS'] ?? '500');

/** Of this thread since then. */
export function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}
