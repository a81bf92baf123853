// Which addresses may be connected to: public ones, and those that OUTBOUND_ALLOW exempts.

import ipaddr from 'ipaddr.js';

import { OutboundError } from '../../ports/outbound.ts';

export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

export interface AddressPolicy {
  /** Whether OUTBOUND_ALLOW names anything at all. */
  readonly hasExemptions: boolean;
  isExempt(address: string): boolean;
  isPublic(address: string): boolean;
  /**
   * Of the addresses of one host, those that may be connected to: the exempt ones when there are any, else all of them, which must be public.
   * A name with one private address among public ones is refused whole: nobody publishes such a name by accident.
   * @throws OutboundError blocked
   */
  choose(host: string, addresses: readonly ResolvedAddress[], use: ConnectionUse): readonly ResolvedAddress[];
}

/** What the connection is for: `plain-http` is for exempt addresses alone. */
export type ConnectionUse = 'plain-http' | 'https' | 'smtp';

/** Who runs the service finds here what to set; what is set isn't told. */
const exception = 'and not in a network that OUTBOUND_ALLOW exempts';

/**
 * @param allow addresses and CIDRs, e.g. `127.0.0.1/32`, `10.0.0.0/8`, `::1`
 * @throws Error naming the entry that is neither
 */
export function createAddressPolicy(allow: readonly string[]): AddressPolicy {
  const exemptions = allow.map(parseRange);

  function isExempt(address: string): boolean {
    const parsed = parse(address);
    return parsed !== null && exemptions.some((range) => parsed.kind() === range[0].kind() && parsed.match(range));
  }

  return {
    hasExemptions: exemptions.length > 0,
    isExempt,
    isPublic,

    choose(host, addresses, use) {
      const exempt = exemptions.length === 0 ? [] : addresses.filter(({ address }) => isExempt(address));
      if (exempt.length > 0) return exempt;
      // The addresses themselves are not told: a tenant is not to map an inner network by its names.
      if (!addresses.every(({ address }) => isPublic(address))) {
        throw new OutboundError('blocked', 'ADDRESS_BLOCKED', `${host} is not at a public address, ${exception}`);
      }
      if (use === 'plain-http') {
        throw new OutboundError('blocked', 'HTTPS_REQUIRED', `${host} is to be called over https, ${exception}`);
      }
      return addresses;
    },
  };
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Azure's host agent answers on this public address to every machine there. */
const azureHostAgent = '168.63.129.16';

/** The only block of IPv6 that is given out (RFC 4291 2.4); ipaddr.js calls unassigned blocks and ::a.b.c.d unicast as well. */
const globalUnicast: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3];

function isPublic(address: string): boolean {
  const parsed = parse(address);
  if (parsed === null || parsed.range() !== 'unicast') return false;
  if (parsed instanceof ipaddr.IPv6) return parsed.match(globalUnicast);
  return parsed.toString() !== azureHostAgent;
}

/** `process` turns an IPv4-mapped IPv6 address into the IPv4 one that is meant. */
function parse(address: string): Address | null {
  try {
    return ipaddr.process(address);
  } catch {
    return null;
  }
}

function parseRange(text: string): [Address, number] {
  try {
    if (text.includes('/')) return ipaddr.parseCIDR(text);
    const address = ipaddr.process(text);
    return [address, address.kind() === 'ipv4' ? 32 : 128];
  } catch {
    throw new Error(`OUTBOUND_ALLOW: ${JSON.stringify(text)} is neither an address nor a CIDR such as 10.0.0.0/8`);
  }
}
