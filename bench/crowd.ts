// The crowd process: thousands of connections that do what strains a server's memory, and the slow receiver of their webhooks.
//
//   12 of 20 post bodies from 100 B to 200 KiB, half of them to the receiver, which answers after 5 s
//    3 of 20 send most of a body and then a byte a second
//    3 of 20 ask for a page of an inbox of large items, and read nothing of it for 10 s
//    2 of 20 listen to an inbox, every second one without reading

import { createServer } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

import type { CrowdPlan, CrowdResult } from './protocol.ts';

const bodyMin = 100;
const bodyMax = 200 * 1024;
const receiverMs = 5000;
const slowSenderMs = 1000;
const slowReaderMs = 10_000;
const thinkMaxMs = 200;
const recipients = 50;

const statuses: Record<string, number> = {};
const filler = 'The order left our warehouse and will reach you. '.repeat(bodyMax / 40);
let isOver = false;

const receiver = createServer((req, res) => {
  req.resume();
  setTimeout(() => res.end(), receiverMs).unref();
});

process.on('message', (plan: CrowdPlan) => {
  receiver.listen(0, '127.0.0.1', () => void run(plan));
});

// Without its parent it has nothing to do.
process.on('disconnect', () => process.exit());

async function run(plan: CrowdPlan): Promise<void> {
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
  for (let i = 0; i < plan.connections; i++) {
    const apiKey = plan.apiKeys[i % plan.apiKeys.length] ?? '';
    begin(plan.port, apiKey, i, url);
    if (i % 100 === 0) await sleep(10);
  }
  await sleep(plan.durationMs);
  isOver = true;
  const result: CrowdResult = { statuses };
  process.send?.(result);
}

function begin(port: number, apiKey: string, i: number, url: string): void {
  const again = () => {
    if (!isOver) setTimeout(() => begin(port, apiKey, i, url), thinkMaxMs);
  };
  const socket = connect({ port, host: '127.0.0.1' });
  socket.on('error', () => socket.destroy());
  socket.once('close', again);
  socket.once('connect', () => {
    const role = i % 20;
    if (role < 12) post(socket, apiKey, i, url);
    else if (role < 15) sendSlowly(socket, apiKey);
    else if (role < 18) readNothing(socket, apiKey, i);
    else listen(socket, apiKey, i);
  });
}

/** One after another on one connection, with a pause between them. */
function post(socket: Socket, apiKey: string, i: number, url: string): void {
  let held = '';
  const next = () => {
    if (!socket.destroyed && !isOver) socket.write(request(apiKey, notification(i, url)));
  };
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    held += chunk;
    const end = held.indexOf('\r\n\r\n');
    const length = /\r\ncontent-length: *(\d+)/i.exec(held)?.[1];
    if (end < 0 || length === undefined || held.length < end + 4 + Number(length)) return;
    const status = held.slice(9, 12);
    statuses[status] = (statuses[status] ?? 0) + 1;
    held = '';
    setTimeout(next, Math.random() * thinkMaxMs);
  });
  next();
}

function notification(i: number, url: string): string {
  const length = Math.round(bodyMin * (bodyMax / bodyMin) ** Math.random());
  const isWebhook = Math.random() < 0.5;
  return JSON.stringify({
    channel: isWebhook ? 'WEBHOOK' : 'IN_APP',
    recipient: isWebhook ? url : `user-${i % recipients}`,
    priority: ['HIGH', 'DEFAULT', 'BULK'][Math.floor(Math.random() * 3)],
    body: filler.slice(0, length),
  });
}

function request(apiKey: string, body: string): string {
  const head = `POST /api/v1/notify HTTP/1.1\r\nHost: localhost\r\nx-api-key: ${apiKey}\r\nContent-Type: application/json`;
  return `${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

function sendSlowly(socket: Socket, apiKey: string): void {
  const text = request(
    apiKey,
    JSON.stringify({ channel: 'IN_APP', recipient: 'slow', body: filler.slice(0, bodyMax) }),
  );
  socket.resume();
  let sent = Math.floor(text.length * 0.9);
  socket.write(text.slice(0, sent));
  const drip = setInterval(() => void socket.write(text.slice(sent, ++sent)), slowSenderMs);
  socket.once('close', () => clearInterval(drip));
}

function readNothing(socket: Socket, apiKey: string, i: number): void {
  const path = `/api/v1/notify/inapp/user-${i % recipients}?limit=100`;
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nx-api-key: ${apiKey}\r\n\r\n`);
  socket.pause();
  setTimeout(() => socket.destroy(), slowReaderMs);
}

function listen(socket: Socket, apiKey: string, i: number): void {
  const path = `/api/v1/notify/inapp/user-${i % recipients}/stream`;
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nx-api-key: ${apiKey}\r\n\r\n`);
  if (i % 40 < 20) socket.resume();
  else socket.pause();
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
