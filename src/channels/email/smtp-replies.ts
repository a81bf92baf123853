// What a mail server may reply within one step of a mail: nodemailer bounds a single reply, at 1 MiB, and neither empty lines nor how many replies there are. It
// keeps them until their turn comes, one in a turn of the event loop, so a server that sends on fills the memory and has the thread that all tenants share.

import type SMTPConnection from 'nodemailer/lib/smtp-connection';

import { OutboundError } from '../../ports/outbound.ts';

/** A greeting with its EHLO, a login, a mail: 21 recipients of 512 bytes (RFC 5321 4.5.3.1.5) are a third of it. */
const bytesMax = 32 * 1024;
/** Lines, and pieces in which they come. */
const partsMax = 1000;

/** Of nodemailer's, whose types don't name them: a test at a server that replies on and on says when another version differs. */
interface Internals {
  /** What comes from the server, out of TLS. */
  _onData(chunk: Buffer): void;
}

/** @param refuse is told of what was over, while the connection is cut. @returns to be called when a step begins */
export function boundReplies(connection: SMTPConnection, refuse: (error: OutboundError) => void): () => void {
  const internals = connection as unknown as Internals;
  const goOn = internals._onData.bind(connection);
  let bytes = 0;
  let parts = 0;
  internals._onData = (chunk) => {
    bytes += chunk.length;
    parts += 1 + linesIn(chunk, partsMax);
    if (bytes <= bytesMax && parts <= partsMax) return goOn(chunk);
    if (connection._socket) connection._socket.destroy();
    refuse(new OutboundError('network', 'ANSWER_TOO_LONG', 'the mail server replied more than is read of it'));
    connection.close();
  };
  return () => {
    bytes = 0;
    parts = 0;
  };
}

const lineFeed = 10;

/** How many end in it, counted up to `max`. */
function linesIn(chunk: Buffer, max: number): number {
  let lines = 0;
  for (let at = chunk.indexOf(lineFeed); at >= 0 && lines < max; at = chunk.indexOf(lineFeed, at + 1)) lines++;
  return lines;
}
