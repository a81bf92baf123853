// What a caller's tracing hands on with a request: `traceparent`, and beside it W3C `tracestate` and `baggage`, unchanged or not at all.

import { parseTraceparent } from './traceparent.ts';

/** The headers of a request, names in lower case. */
type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

export interface TraceContext {
  readonly traceparent: string | null;
  readonly tracestate: string | null;
  readonly baggage: string | null;
}

export const noTrace: TraceContext = { traceparent: null, tracestate: null, baggage: null };

/** What is malformed or too long counts as none: a trace is never a reason to refuse a request. A tracestate says nothing without its traceparent. */
export function traceContextOf(headers: Headers): TraceContext {
  const traceparent = parseTraceparent(headers['traceparent']);
  return {
    traceparent,
    tracestate: traceparent === null ? null : parseTracestate(headers['tracestate']),
    baggage: parseBaggage(headers['baggage']),
  };
}

/** Of items of a batch, each of which keeps it: a baggage over 512 bytes counts as none there. */
export function traceContextOfItems(headers: Headers): TraceContext {
  const trace = traceContextOf(headers);
  return (trace.baggage?.length ?? 0) > itemBaggageBytesMax ? { ...trace, baggage: null } : trace;
}

/** What W3C Trace Context asks everybody to pass on at least: 512 characters, 32 members. */
const tracestateCharactersMax = 512;
const tracestateMembersMax = 32;
/** As W3C Baggage does: 8,192 bytes, all members and the commas between them. */
const baggageBytesMax = 8192;
/** As long as a tracestate: 5 MiB of the log for a batch of 10,000, where 8 KiB each would be 80. */
const itemBaggageBytesMax = 512;

const stateKey = '(?:[a-z][a-z0-9_*/-]{0,255}|[a-z0-9][a-z0-9_*/-]{0,240}@[a-z][a-z0-9_*/-]{0,13})';
/** Printable, without comma and equals sign, the last one no space. */
const stateValue = String.raw`[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]`;
const stateMember = new RegExp(`^${stateKey}=${stateValue}$`);
/** A token, then a value with its properties: printable ASCII, so that it is a header's value wherever it goes. */
const baggageMember = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+[ \t]*=[\t\x20-\x7e]*$/;

function parseTracestate(header: string | readonly string[] | undefined): string | null {
  if (typeof header !== 'string' || header.length > tracestateCharactersMax) return null;
  const members = membersOf(header);
  const keys = new Set(members.map((member) => member.slice(0, member.indexOf('='))));
  const isWell = keys.size === members.length && members.every((member) => stateMember.test(member));
  return isWell && members.length > 0 && members.length <= tracestateMembersMax ? header : null;
}

function parseBaggage(header: string | readonly string[] | undefined): string | null {
  if (typeof header !== 'string' || header.length > baggageBytesMax) return null;
  const members = membersOf(header);
  return members.length > 0 && members.every((member) => baggageMember.test(member)) ? header : null;
}

/** Empty ones are allowed and count for nothing. */
function membersOf(header: string): string[] {
  return header
    .split(',')
    .map((member) => member.replace(blanksAround, ''))
    .filter((member) => member !== '');
}

const blanksAround = /^[ \t]+|[ \t]+$/g;
