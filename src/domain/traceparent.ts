// W3C trace context, level 1: a request's `traceparent` goes along with everything that follows from it, unchanged; Herald opens no span of its own.

const spelling = /^([0-9a-f]{2})-((?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2})(-.*)?$/;

/** The header's value; what is malformed counts as none. A version yet to come may have more fields, of which the known ones are kept. */
export function parseTraceparent(header: string | readonly string[] | undefined): string | null {
  if (typeof header !== 'string' || header.length > headerMax) return null;
  const [, version, known, more] = spelling.exec(header) ?? [];
  if (version === undefined || known === undefined || version === 'ff') return null;
  if (version === '00') return more === undefined ? header : null;
  return `00-${known}`;
}

/** The trace's id, for a log line; null without one. */
export function traceIdOf(traceparent: string | null): string | null {
  return traceparent === null ? null : traceparent.slice('00-'.length, '00-'.length + traceIdLength);
}

const headerMax = 512;
const traceIdLength = 32;
