// Requests that have a time of their own: Node's doesn't hold for them, and once that is over the connection doesn't outlast what still comes.

import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';

import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';

import { hasOwnTime, lingerMs, takeOwnTime } from '../../src/api/own-time.ts';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

function requestOf(complete: boolean) {
  const destroy = jest.fn();
  const request = Object.assign(new EventEmitter(), { socket: new PassThrough(), complete, destroy });
  return { request, destroy, timeIsOver: takeOwnTime(request as unknown as IncomingMessage) };
}

it('it has it until it is over, and its connection not for the next one', () => {
  const { request, timeIsOver } = requestOf(true);
  expect(hasOwnTime(request.socket)).toBe(true);
  timeIsOver();
  expect(hasOwnTime(request.socket)).toBe(false);
});

it.each([
  ['is cut if it does not come', false, 1],
  ['is left alone if it has come', true, 0],
])('what is still to come of one that is over %s', (_, comes, cuts) => {
  const { request, destroy, timeIsOver } = requestOf(false);
  timeIsOver();
  jest.advanceTimersByTime(lingerMs - 1);
  expect(destroy).not.toHaveBeenCalled();
  request.complete = comes;
  jest.advanceTimersByTime(1);
  expect(destroy).toHaveBeenCalledTimes(cuts);
});

it('who is answered before all of it has come is not answered a second time by the end of Node’s time: its own holds until it is gone', () => {
  const { request, timeIsOver } = requestOf(false);
  timeIsOver();
  expect(hasOwnTime(request.socket)).toBe(true);
  request.emit('close');
  expect(hasOwnTime(request.socket)).toBe(false);
});
