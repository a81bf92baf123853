// Reference (b): the same on node:http, parsing the body as (a) does.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const answer = JSON.stringify({ notificationId: 'notif_00000000000000000000000000', status: 'queued' });
const headers = { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': Buffer.byteLength(answer) };

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (chunk: string) => (body += chunk));
  request.on('end', () => {
    JSON.parse(body);
    response.writeHead(202, headers).end(answer);
  });
});
// Without its parent it has nothing to do.
process.on('disconnect', () => process.exit());

server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
