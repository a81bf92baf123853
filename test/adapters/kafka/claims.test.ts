// A consumer's claims on numbers: what a group's answers make of them, and how a number is given away.

import { beforeEach, describe, expect, it } from '@jest/globals';

import { createClaims, type Claims, type ClaimsDependencies } from '../../../src/adapters/kafka/claims.ts';
import { workTopic } from '../../../src/domain/topics.ts';
import type { Claim } from '../../../src/ports/event-log.ts';
import { until } from '../../support/until.ts';
import { clock, type Line, loggerTo } from './log-world.ts';

const topics = [workTopic('EMAIL', 'HIGH')];
const me = (generation: number, memberId = 'me') => ({ memberId, generation });
let claims: Claims;
let owned: Claim[];
/** What happened, in order. */
let told: string[];
let lines: Line[];
/** What the consumer does when it is asked to release. */
let releasing: (partition: number) => Promise<void>;
/** Ends the wait for a release. */
let timeOut: () => void;

beforeEach(() => {
  [owned, told, lines] = [[], [], []];
  releasing = () => Promise.resolve();
  claims = createClaims(
    {
      group: 'dispatcher-email',
      topics,
      owned: (claim) => void (owned.push(claim), told.push(`owned ${claim.partition}`)),
      releasing: (partition) => releasing(partition),
      lost: (partition) => void told.push(`lost ${partition}`),
    },
    {
      names: {} as ClaimsDependencies['names'],
      clock: { ...clock, sleep: () => new Promise((resolve) => void (timeOut = resolve)) },
      logger: loggerTo(lines),
      reading: {} as ClaimsDependencies['reading'],
      commits: {} as ClaimsDependencies['commits'],
      isCurrent: () => true,
      confirm: () => Promise.resolve(),
      released: () => void told.push('released'),
      committed: async () => new Map(),
    },
  );
});

describe('claims', () => {
  it('stay over generations that the member did not hear of: it has told each of them what it holds', async () => {
    claims.assigned([1, 2], me(5));
    await until(() => owned.length === 2);
    claims.assigned([1, 2], me(8));
    expect(told).toEqual(['owned 1', 'owned 2']);
    expect(owned.every(({ signal }) => !signal.aborted)).toBe(true);
  });

  it('are lost and taken anew by a member that the group takes for another one', async () => {
    claims.assigned([1], me(5));
    await until(() => owned.length === 1);
    claims.assigned([1], me(6, 'somebody'));
    await until(() => owned.length === 2);
    expect(told).toEqual(['owned 1', 'lost 1', 'owned 1']);
    expect(owned.map(({ signal }) => signal.aborted)).toEqual([true, false]);
  });

  it('are held until the consumer has finished with them, then lost, and the group hears of it', async () => {
    const finishing = Promise.withResolvers<void>();
    releasing = () => finishing.promise;
    claims.assigned([1, 2], me(5));
    await until(() => owned.length === 2);
    claims.assigned([1], me(6));
    claims.assigned([1], me(7));
    expect(claims.held()).toEqual([1, 2]);
    expect(owned[1]?.signal.aborted).toBe(false);
    finishing.resolve();
    await until(() => told.includes('released'));
    expect(told.slice(2)).toEqual(['lost 2', 'released']);
    expect(claims.held()).toEqual([1]);
  });

  it('are lost when the consumer does not finish with them in time', async () => {
    releasing = () => new Promise(() => {});
    claims.assigned([1], me(5));
    await until(() => owned.length === 1);
    claims.assigned([], me(6));
    timeOut();
    await until(() => told.includes('released'));
    expect(told).toEqual(['owned 1', 'lost 1', 'released']);
  });

  it('that are given back while they are released are taken anew', async () => {
    const finishing = Promise.withResolvers<void>();
    releasing = () => finishing.promise;
    claims.assigned([1], me(5));
    await until(() => owned.length === 1);
    claims.assigned([], me(6));
    claims.assigned([1], me(7));
    finishing.resolve();
    await until(() => owned.length === 2);
    expect(told).toEqual(['owned 1', 'lost 1', 'owned 1']);
  });

  it('are lost at once, all of them, when the group goes on without the member', async () => {
    releasing = () => new Promise(() => {});
    claims.assigned([1, 2], me(5));
    await until(() => owned.length === 2);
    claims.assigned([1], me(6));
    claims.evicted();
    expect(told.slice(2)).toEqual(['lost 1', 'lost 2']);
    timeOut();
    await until(() => claims.held().length === 0);
    expect(told).toHaveLength(4);
  });
});
