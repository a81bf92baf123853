// Turns what sockets, TLS, name servers and undici say into the few errors of the port.

import { OutboundError } from '../../ports/outbound.ts';

/** undici's own codes by the words that everyone knows; the others (ECONNREFUSED, ENOTFOUND, CERT_HAS_EXPIRED, ...) stay as they are. */
const codes = new Map([
  ['UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT'],
  ['UND_ERR_HEADERS_TIMEOUT', 'ETIMEDOUT'],
  ['UND_ERR_BODY_TIMEOUT', 'ETIMEDOUT'],
  ['UND_ERR_SOCKET', 'ECONNRESET'],
  ['UND_ERR_HEADERS_OVERFLOW', 'ANSWER_TOO_LONG'],
]);

/** @param signal the request's own; once it has aborted, that is the reason, whatever broke on the way */
export function toOutboundError(error: unknown, signal: AbortSignal | null): OutboundError {
  if (error instanceof OutboundError) return error;
  if (signal?.aborted === true)
    return new OutboundError('timeout', 'ETIMEDOUT', 'there was no answer before the deadline');
  const { code, message } = error as { code?: unknown; message?: unknown };
  const known = typeof code === 'string' ? (codes.get(code) ?? code) : 'NETWORK';
  return new OutboundError('network', known, typeof message === 'string' && message !== '' ? message : known);
}
