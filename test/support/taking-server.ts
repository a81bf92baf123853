// A mail server that refuses every recipient and says 354 to DATA all the same, then waits for a mail that ends as RFC 5321 says: CRLF, dot, CRLF behind its content.

import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:net';

export interface TakingServer {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * @param extensions that it offers in EHLO
 * @param refusal what it says to each recipient
 */
export async function startTakingServer(
  extensions: readonly string[],
  refusal = '550 5.1.1 no such user',
): Promise<TakingServer> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    let unread = '';
    let isContent = false;
    socket.write('220 taking.example ESMTP\r\n');
    socket.on('data', (chunk: Buffer) => {
      unread += chunk.toString('latin1');
      for (;;) {
        const ending = isContent ? '\r\n.\r\n' : '\r\n';
        const at = unread.indexOf(ending);
        if (at < 0) return;
        const line = unread.slice(0, at);
        unread = unread.slice(at + ending.length);
        socket.write(isContent ? '554 no recipients\r\n' : answerTo(line, extensions, refusal));
        isContent = !isContent && line === 'DATA';
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

function answerTo(line: string, extensions: readonly string[], refusal: string): string {
  if (line.startsWith('EHLO')) {
    const lines = ['taking.example', ...extensions];
    return lines.map((text, i) => `250${i === lines.length - 1 ? ' ' : '-'}${text}\r\n`).join('');
  }
  const recipient = /^RCPT TO:<(.*)>/.exec(line)?.[1];
  if (recipient !== undefined) return `${refusal} ${recipient}\r\n`;
  if (line === 'DATA') return '354 go on\r\n';
  return line === 'QUIT' ? '221 bye\r\n' : '250 ok\r\n';
}
