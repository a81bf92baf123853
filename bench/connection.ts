// One keep-alive HTTP/1.1 connection on a bare socket: a request at a time, answers read by Content-Length and no further.
// A full HTTP client would cost more of two cores than the servers that are measured.

import { connect } from 'node:net';
import type { Socket } from 'node:net';

export interface Connection {
  /** Writes one request; the one before must have been answered. */
  send(request: string): void;
  close(): void;
}

export interface ConnectionEvents {
  answered(status: string, body: string): void;
  failed(error: Error): void;
}

export function openConnection(port: number, events: ConnectionEvents): Promise<Connection> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  socket.setEncoding('latin1');
  let held = '';
  /** Looked for until it is known and no longer: each look puts together all that is held, and an answer of a megabyte comes in twenty pieces. */
  let length: number | null = null;
  socket.on('data', (chunk: string) => {
    held = held === '' ? chunk : held + chunk;
    length ??= lengthOfAnswer(held);
    if (length === null || held.length < length) return;
    if (held.length > length) return events.failed(new Error('the server answered more than was asked'));
    const answer = held;
    held = '';
    length = null;
    events.answered(answer.slice(9, 12), answer.slice(answer.indexOf('\r\n\r\n') + 4));
  });
  return opened(socket, events);
}

function opened(socket: Socket, events: ConnectionEvents): Promise<Connection> {
  let closing = false;
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject);
      socket.on('error', (error) => events.failed(error));
      socket.on('close', () => {
        if (!closing) events.failed(new Error('the server closed the connection'));
      });
      resolve({
        send: (request) => void socket.write(request, 'latin1'),
        close: () => {
          closing = true;
          socket.destroy();
        },
      });
    });
  });
}

const lengthHeader = /\r\ncontent-length: *(\d+)\r\n/i;

/** Characters of the whole answer; null as long as its head isn't complete. */
function lengthOfAnswer(text: string): number | null {
  const head = text.indexOf('\r\n\r\n');
  if (head < 0) return null;
  const length = lengthHeader.exec(text.slice(0, head + 2));
  if (length === null) throw new Error(`an answer without Content-Length: ${text.slice(0, head)}`);
  return head + 4 + Number(length[1]);
}
