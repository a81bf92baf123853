// kafkajs' request queue, mended: no timer without a reason, and none missing where there is one.

import { getActiveResourcesInfo } from 'node:process';

import { describe, expect, it } from '@jest/globals';
import RequestQueue from 'kafkajs/src/network/requestQueue/index.js';

import { mendRequestQueue } from '../../../src/adapters/kafka/request-queue.ts';
import { until } from '../../support/until.ts';

interface Queue extends RequestQueue {
  push(of: object): void;
  fulfillRequest(of: object): void;
  destroy(): void;
}

const logger = { debug() {}, warn() {} };

/** As a connection makes one; kafkajs' types know nothing of it. */
function makeQueue(maxInFlightRequests: number, more: object = {}): Queue {
  const Queues = RequestQueue as unknown as new (options: object) => Queue;
  return new Queues({ maxInFlightRequests, requestTimeout: 1000, clientId: 't', broker: 'b', logger, ...more });
}

/** Timers that keep this thread awake. */
function timers(): number {
  return getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
}

function request(correlationId: number, sent: number[]) {
  return {
    entry: { correlationId, resolve() {}, reject() {} },
    expectResponse: true,
    sendRequest: () => void sent.push(correlationId),
  };
}

describe("kafkajs' request queue, mended", () => {
  it('arms no timer after an answer when nothing is pending', () => {
    mendRequestQueue();
    const queue = makeQueue(5);
    const sent: number[] = [];
    queue.push(request(1, sent));
    queue.fulfillRequest({ correlationId: 1, payload: Buffer.alloc(0), size: 0 });
    expect(sent).toEqual([1]);
    expect(queue.throttleCheckTimeoutId).toBeNull();
    queue.destroy();
  });

  it('sends what is pending once there is room, and what a throttled broker made wait once it is over', async () => {
    mendRequestQueue();
    const queue = makeQueue(1);
    const sent: number[] = [];
    queue.push(request(1, sent));
    queue.push(request(2, sent));
    expect(sent).toEqual([1]);
    queue.fulfillRequest({ correlationId: 1, payload: Buffer.alloc(0), size: 0 });
    expect(sent).toEqual([1, 2]);
    queue.fulfillRequest({ correlationId: 2, payload: Buffer.alloc(0), size: 0 });
    queue.maybeThrottle(30);
    queue.push(request(3, sent));
    expect(sent).toEqual([1, 2]);
    await until(() => sent.length === 3, { what: 'the throttled request' });
    queue.destroy();
  });

  it('looks after the requests of all connections by one timer, which ends with the last of them', () => {
    mendRequestQueue();
    const before = timers();
    const queues = Array.from({ length: 20 }, () => makeQueue(5, { enforceRequestTimeout: true }));
    for (const queue of queues) queue.scheduleRequestTimeoutCheck();
    expect(timers() - before).toBe(1);
    for (const queue of queues) queue.destroy();
    expect(timers() - before).toBe(0);
  });

  it('ends a request that is not answered in time, on whichever connection, and leaves the others', async () => {
    mendRequestQueue();
    const isConnected = { first: true, second: true };
    const first = makeQueue(5, {
      enforceRequestTimeout: true,
      requestTimeout: 50,
      isConnected: () => isConnected.first,
    });
    const second = makeQueue(5, { enforceRequestTimeout: true, isConnected: () => isConnected.second });
    const ended: string[] = [];
    for (const [name, queue] of Object.entries({ first, second })) {
      queue.scheduleRequestTimeoutCheck();
      const { entry, ...of } = request(1, []);
      queue.push({ ...of, entry: { ...entry, reject: ({ name: error }: Error) => ended.push(`${name}: ${error}`) } });
    }
    await until(() => ended.length > 0, { what: 'the request that is late' });
    expect(ended).toEqual(['first: KafkaJSRequestTimeoutError']);
    // Who has lost its connection is looked after no more, and its own timer is not needed for that.
    const before = timers();
    isConnected.first = isConnected.second = false;
    await until(() => timers() < before, { what: 'the timer to end' });
  });

  it('sends what a throttled broker made wait once it is over, though the clock was put back', async () => {
    mendRequestQueue();
    const { now } = Date;
    const queue = makeQueue(5);
    const sent: number[] = [];
    queue.maybeThrottle(30);
    try {
      Date.now = () => now() - 3_600_000;
      queue.push(request(1, sent));
      expect(sent).toEqual([]);
      await until(() => sent.length === 1, { what: 'the throttled request' });
    } finally {
      Date.now = now;
      queue.destroy();
    }
  });

  it('ends a request that is not sent in time, and never sends it', async () => {
    mendRequestQueue();
    const queue = makeQueue(5, { enforceRequestTimeout: true, requestTimeout: 50, isConnected: () => true });
    queue.scheduleRequestTimeoutCheck();
    const [sent, ended]: [number[], string[]] = [[], []];
    queue.maybeThrottle(600_000);
    const { entry, ...of } = request(1, sent);
    queue.push({ ...of, entry: { ...entry, reject: ({ name }: Error) => ended.push(name) } });
    await until(() => ended.length > 0, { what: 'the request that is late' });
    expect(ended).toEqual(['KafkaJSRequestTimeoutError']);
    expect([sent, queue.pending]).toEqual([[], []]);
    queue.destroy();
  });

  it('gives a request that waited for being sent its whole time for the answer', async () => {
    mendRequestQueue();
    const { now } = performance;
    let [byMs, looks] = [0, 0];
    const isConnected = () => looks++ >= 0;
    const queue = makeQueue(1, { enforceRequestTimeout: true, requestTimeout: 60_000, isConnected });
    const [sent, ended]: [number[], number[]] = [[], []];
    const looked = async () => {
      const before = looks;
      await until(() => looks > before);
    };
    queue.scheduleRequestTimeoutCheck();
    queue.push({ ...request(1, sent), requestTimeout: 600_000 });
    const { entry, ...of } = request(2, sent);
    queue.push({ ...of, entry: { ...entry, reject: () => ended.push(2) } });
    try {
      performance.now = () => now.call(performance) + byMs;
      await looked();
      byMs += 50_000;
      queue.fulfillRequest({ correlationId: 1, payload: Buffer.alloc(0), size: 0 });
      expect(sent).toEqual([1, 2]);
      await looked();
      byMs += 50_000;
      await looked();
      expect(ended).toEqual([]);
      byMs += 10_000;
      await until(() => ended.length > 0, { what: 'the request that is late' });
    } finally {
      performance.now = now;
      queue.destroy();
    }
  });

  it.each([
    ['forward', 3_600_000],
    ['back', -3_600_000],
  ])('does so by a clock that is not put %s', async (_, byMs) => {
    mendRequestQueue();
    const { now } = Date;
    const open = { isConnected: () => true, enforceRequestTimeout: true };
    const [patient, hasty] = [
      makeQueue(5, { ...open, requestTimeout: 60_000 }),
      makeQueue(5, { ...open, requestTimeout: 50 }),
    ];
    const ended: string[] = [];
    for (const [name, queue] of Object.entries({ patient, hasty })) {
      queue.scheduleRequestTimeoutCheck();
      const { entry, ...of } = request(1, []);
      queue.push({ ...of, entry: { ...entry, reject: () => ended.push(name) } });
    }
    try {
      Date.now = () => now() + byMs;
      await until(() => ended.length > 0, { what: 'the request that is late' });
      expect(ended).toEqual(['hasty']);
    } finally {
      Date.now = now;
      for (const queue of [patient, hasty]) queue.destroy();
    }
  });
});
