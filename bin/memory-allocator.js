// The memory allocator of what takes large buffers and frees them: a service that runs for months, an export. In JavaScript that every Node can read.

/**
 * glibc's allocator, as it is, keeps an arena a thread and raises the size from which it asks the system itself with each large buffer that is freed, so
 * that buffers of requests lie among small things and what is free between them is never given back: beside 4,000 connections with bodies of up to 200 KiB
 * 382 MiB stayed resident, with these 354 (two arenas alone: 360), and the longest answer of health took 180 ms instead of 485. An export of 1,000,000
 * notifications from Kafka as CSV took 301 MiB at most, with these 235. It reads them from its environment, before main(). Other allocators don't know
 * the names.
 */
const settings = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '65536',
  MALLOC_TRIM_THRESHOLD_: '131072',
};

/**
 * The environment to start again with; null: this process has it, an operator has chosen another, or this system has no need or no way.
 * @param of platform, env and execve as of `process`
 */
export function givesMemoryBack({ platform, env, execve }) {
  const isChosen = Object.keys(settings).some((name) => env[name] !== undefined);
  if (platform !== 'linux' || execve === undefined || isChosen) return null;
  return { ...env, ...settings };
}
