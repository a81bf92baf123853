// The receiver of the webhooks, a process of its own: answers 204 and remembers what arrived and when.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { monotonicMs, percentiles } from './protocol.ts';
import type { SinkCommand, SinkReport } from './protocol.ts';

let ids = new Set<string>();
let arrivals = 0;
let lastArrivalAtMs = 0;
let latencies: number[] = [];
let wanted = Number.POSITIVE_INFINITY;
let answer = () => {};

const server = createServer((request, response) => {
  const arrivedAt = monotonicMs();
  let body = '';
  request.setEncoding('latin1');
  request.on('data', (chunk: string) => (body += chunk));
  request.on('end', () => {
    response.writeHead(204).end();
    const due = /"dueAtMs":([\d.]+)/.exec(body)?.[1];
    if (due !== undefined) latencies.push(arrivedAt - Number(due));
    ids.add(String(request.headers['webhook-id']));
    arrivals += 1;
    lastArrivalAtMs = arrivedAt;
    if (ids.size >= wanted) answer();
  });
});

process.on('message', (command: SinkCommand) => {
  if (command.kind === 'reset') return reset();
  const timer = setTimeout(report, command.withinMs);
  answer = () => {
    clearTimeout(timer);
    report();
  };
  wanted = command.distinct;
  if (ids.size >= wanted) answer();
});

// Without its parent it has nothing to do.
process.on('disconnect', () => process.exit());

server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));

function reset(): void {
  ids = new Set();
  arrivals = 0;
  latencies = [];
  wanted = Number.POSITIVE_INFINITY;
}

function report(): void {
  wanted = Number.POSITIVE_INFINITY;
  const said: SinkReport = { arrivals, ids: [...ids], lastArrivalAtMs, latencyMs: percentiles([...latencies]) };
  process.send?.(said);
}
