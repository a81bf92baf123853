import { describe, expect, it } from '@jest/globals';
import { createFairQueue } from '../../../src/adapters/liquid/fair-queue.ts';

describe('the queue of templates with tags', () => {
  it('lets the owners take turns, each in its own order', () => {
    const queue = createFairQueue<string>({ jobsMax: 100, jobsPerOwnerMax: 50 });
    for (const job of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) queue.push(job.charAt(0), job);
    expect(Array.from({ length: 7 }, () => queue.take())).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', undefined]);
    expect(queue.size).toBe(0);
  });

  it('refuses past its limits, and takes again when there is room', () => {
    const queue = createFairQueue<number>({ jobsMax: 3, jobsPerOwnerMax: 2 });
    expect([queue.push('a', 1), queue.push('a', 2), queue.push('a', 3)]).toEqual([true, true, false]);
    expect([queue.push('b', 4), queue.push('c', 5)]).toEqual([true, false]);
    queue.take();
    expect(queue.push('c', 5)).toBe(true);
    expect(queue.size).toBe(3);
  });
});
