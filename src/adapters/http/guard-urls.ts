// What is wrong with a URL that a tenant wants called, as far as its text alone says.

import { isIP } from 'node:net';

import type { AddressPolicy } from './guard-addresses.ts';

/** A sentence to follow the field's name; null when nothing is wrong. Names are not resolved: the guard looks at them when it connects. */
export function problemWithUrl(policy: AddressPolicy, text: string): string | null {
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
