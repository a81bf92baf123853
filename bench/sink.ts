// The receiver of the webhooks, a process of its own: answers 204 and remembers what arrived and when.
// It reads HTTP/1.1 off the socket itself, since node:http would take from the service a tenth of the two cores that both share.

import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { createTimeline } from './over-time.ts';
import { monotonicMs, percentiles } from './protocol.ts';
import type { SinkCommand, SinkReport } from './protocol.ts';

const answered = 'HTTP/1.1 204 No Content\r\nConnection: keep-alive\r\n\r\n';

let ids = new Set<string>();
let arrivals = 0;
let lastArrivalAtMs = 0;
let latencies: number[] = [];
let timeline = createTimeline();
let wanted = Number.POSITIVE_INFINITY;
let answer = () => {};

const server = createServer({ noDelay: true }, (socket: Socket) => {
  let waiting = '';
  socket.setEncoding('latin1');
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk: string) => {
    const arrivedAt = monotonicMs();
    waiting += chunk;
    for (;;) {
      const bodyAt = waiting.indexOf('\r\n\r\n') + 4;
      if (bodyAt < 4) return;
      const head = waiting.slice(0, bodyAt);
      const end = bodyAt + Number(header(head, 'content-length') ?? 0);
      if (waiting.length < end) return;
      socket.write(answered);
      arrived(header(head, 'webhook-id') ?? '', waiting.slice(bodyAt, end), arrivedAt);
      waiting = waiting.slice(end);
    }
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

const patterns = {
  'content-length': /\r\ncontent-length: *(\d+)/i,
  'webhook-id': /\r\nwebhook-id: *([^\r]+)/i,
} as const;

function header(head: string, name: keyof typeof patterns): string | undefined {
  return patterns[name].exec(head)?.[1];
}

function arrived(id: string, body: string, arrivedAt: number): void {
  const due = /"dueAtMs":([\d.]+)/.exec(body)?.[1];
  if (due !== undefined) latencies.push(arrivedAt - Number(due));
  timeline.add(arrivedAt, due === undefined ? null : arrivedAt - Number(due));
  ids.add(id);
  arrivals += 1;
  lastArrivalAtMs = arrivedAt;
  if (ids.size >= wanted) answer();
}

function reset(): void {
  ids = new Set();
  arrivals = 0;
  latencies = [];
  timeline = createTimeline();
  wanted = Number.POSITIVE_INFINITY;
}

function report(): void {
  wanted = Number.POSITIVE_INFINITY;
  const latencyMs = percentiles([...latencies]);
  const said: SinkReport = { arrivals, ids: [...ids], lastArrivalAtMs, latencyMs, overTime: timeline.moments() };
  process.send?.(said);
}
