// Which TLS handshakes begin at once: sixteen of a tenant, four once one has failed, and then after a rest.

import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';

import type { TakeHandshake } from '../../../src/adapters/http/handshakes.ts';
import { createHandshakes } from '../../../src/adapters/http/handshakes.ts';

type Over = (isWell: boolean) => void;

let takeHandshake: TakeHandshake;
/** Of each tenant those under way, in their order, and how many were refused. */
let underWay: Record<string, Over[]>;
let refused: number;

beforeEach(() => {
  jest.useFakeTimers();
  takeHandshake = createHandshakes({ clock: { monotonic: () => performance.now() } });
  underWay = { a: [], b: [] };
  refused = 0;
});
afterEach(() => {
  jest.useRealTimers();
});

function take(tenant: 'a' | 'b', count = 1): void {
  for (let i = 0; i < count; i++)
    takeHandshake(
      tenant,
      (over) => underWay[tenant]?.push(over),
      () => refused++,
    );
}
const begun = (tenant: 'a' | 'b') => underWay[tenant]?.length ?? 0;
const end = (tenant: 'a' | 'b', count: number, isWell: boolean) =>
  underWay[tenant]?.splice(0, count).forEach((over) => over(isWell));

describe('a tenant’s handshakes', () => {
  it('begin at once up to sixteen, the others as these end, in their order', () => {
    take('a', 20);
    expect(begun('a')).toBe(16);
    end('a', 3, true);
    expect(begun('a')).toBe(16);
    end('a', 16, true);
    expect(begun('a')).toBe(1);
    end('a', 1, true);
    take('a', 16);
    expect(begun('a')).toBe(16);
  });

  it('are four at once after one has failed, and none for a second', () => {
    take('a');
    end('a', 1, false);
    take('a', 6);
    expect(begun('a')).toBe(0);
    jest.advanceTimersByTime(999);
    expect(begun('a')).toBe(0);
    jest.advanceTimersByTime(1);
    expect(begun('a')).toBe(4);
    end('a', 4, true);
    expect(begun('a')).toBe(2);
  });

  it('rest for each that failed, five seconds at most', () => {
    take('a', 16);
    end('a', 3, false);
    end('a', 13, true);
    take('a');
    jest.advanceTimersByTime(2_999);
    expect(begun('a')).toBe(0);
    jest.advanceTimersByTime(1);
    expect(begun('a')).toBe(1);
    end('a', 1, true);
    jest.advanceTimersByTime(600_000);
    take('a', 16);
    end('a', 16, false);
    take('a');
    jest.advanceTimersByTime(4_999);
    expect(begun('a')).toBe(0);
    jest.advanceTimersByTime(1);
    expect(begun('a')).toBe(1);
  });

  it('have failed, and make room, after three seconds, whatever comes of them later', () => {
    take('a', 17);
    jest.advanceTimersByTime(2_999);
    expect(begun('a')).toBe(16);
    jest.advanceTimersByTime(1);
    expect(begun('a')).toBe(16);
    end('a', 16, true);
    jest.advanceTimersByTime(4_999);
    expect(begun('a')).toBe(0);
    jest.advanceTimersByTime(1);
    expect(begun('a')).toBe(1);
  });

  it('that wait for ten seconds are refused', () => {
    take('a', 40);
    for (let i = 0; i < 9; i++) {
      jest.advanceTimersByTime(1_000);
      end('a', 16, false);
    }
    expect(refused).toBe(0);
    jest.advanceTimersByTime(1_000);
    const left = 40 - 16 - 4;
    expect(refused).toBe(left);
    jest.advanceTimersByTime(60_000);
    expect(refused).toBe(left);
  });

  it('are sixteen at once again after ten minutes without a failure', () => {
    take('a');
    end('a', 1, false);
    jest.advanceTimersByTime(599_999);
    take('a', 16);
    expect(begun('a')).toBe(4);
    end('a', 4, true);
    jest.advanceTimersByTime(1);
    take('a');
    expect(begun('a')).toBe(13);
  });

  it('are nobody else’s', () => {
    take('a', 16);
    end('a', 16, false);
    take('a', 16);
    take('b', 16);
    expect([begun('a'), begun('b')]).toEqual([0, 16]);
  });
});
