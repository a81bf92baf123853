// What is wrong with a URL that a tenant wants called, as far as its text alone says.

import { isIP } from 'node:net';

import type { AddressPolicy } from './guard-addresses.ts';

/** What is known of so many URLs and, once there are more, of as many before them. */
const knownMax = 500;
/** Longer ones are looked at each time: half a MB in all. */
const knownLengthMax = 256;

/**
 * A sentence to follow the field's name; null when nothing is wrong. Names are not resolved: the guard looks at them when it connects. A tenant's webhooks
 * go to the same few URLs, and looking at one takes as long as all other fields of a notification.
 */
export function createUrlCheck(policy: AddressPolicy): (text: string) => string | null {
  let known = new Map<string, string | null>();
  let before = known;
  return (text) => {
    if (text.length > knownLengthMax) return problemWithUrl(policy, text);
    const said = known.get(text);
    if (said !== undefined) return said;
    const formerly = before.get(text);
    const problem = formerly === undefined ? problemWithUrl(policy, text) : formerly;
    if (known.size === knownMax) {
      before = known;
      known = new Map();
    }
    known.set(text, problem);
    return problem;
  };
}

function problemWithUrl(policy: AddressPolicy, text: string): string | null {
  const url = URL.parse(text);
  if (url === null) return 'must be a URL that begins with https://';
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must be a URL that begins with https://';
  if (url.username !== '' || url.password !== '') return 'must not have a user name or password in it';
  const { hostname } = url;
  const literal = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  if (isIP(literal) !== 0) return problemWithLiteral(policy, literal, url.protocol);
  if (url.protocol === 'https:' || (policy.hasExemptions && isLocalName(hostname))) return null;
  return httpsNeeded;
}

const httpsNeeded = 'must be a URL that begins with https://, unless OUTBOUND_ALLOW exempts its network';

function problemWithLiteral(policy: AddressPolicy, literal: string, protocol: string): string | null {
  if (policy.isExempt(literal)) return null;
  if (!policy.isPublic(literal))
    return 'must not point to a private or reserved address, unless OUTBOUND_ALLOW exempts its network';
  return protocol === 'https:' ? null : httpsNeeded;
}

/** Names that only a local resolver knows: a single label, or below a private top-level domain (RFC 6761, RFC 6762, ICANN's .internal). */
function isLocalName(hostname: string): boolean {
  const name = hostname.endsWith('.') ? hostname.slice(0, -1) : hostname;
  return !name.includes('.') || /\.(localhost|local|internal)$/.test(name);
}
