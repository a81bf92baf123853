// kafkajs' request queue, mended: no timer without a reason, and none missing where there is one.

import { describe, expect, it } from '@jest/globals';
import RequestQueue from 'kafkajs/src/network/requestQueue/index.js';

import { mendRequestQueue } from '../../../src/adapters/kafka/request-queue.ts';
import { until } from '../../support/until.ts';

interface Queue extends RequestQueue {
  throttleCheckTimeoutId: unknown;
  push(of: object): void;
  fulfillRequest(of: object): void;
  destroy(): void;
}

const logger = { debug() {}, warn() {} };

/** As a connection makes one; kafkajs' types know nothing of it. */
function makeQueue(maxInFlightRequests: number): Queue {
  const Queues = RequestQueue as unknown as new (options: object) => Queue;
  return new Queues({ maxInFlightRequests, requestTimeout: 1000, clientId: 't', broker: 'b', logger });
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
    (queue as unknown as { throttledUntil: number }).throttledUntil = Date.now() + 30;
    queue.push(request(3, sent));
    expect(sent).toEqual([1, 2]);
    await until(() => sent.length === 3, { what: 'the throttled request' });
    queue.destroy();
  });
});
