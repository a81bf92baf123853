// Who a connection or a request comes from, and how many places each of them may hold: connections, or behind a proxy that is trusted requests at once.
//
//   client ---------------> socket          a place for each connection of the socket's address
//   client --> proxy -----> socket          a place for each request of the address that the proxy names in X-Forwarded-For

import { BlockList, isIP } from 'node:net';

export interface AddressRules {
  /** Networks in CIDR form. What anybody else says in X-Forwarded-For is not believed. */
  readonly trustedProxies: readonly string[];
  readonly placesPerAddress: number;
}

export type ClientAddresses = ReturnType<typeof createClientAddresses>;

export function createClientAddresses({ trustedProxies, placesPerAddress }: AddressRules) {
  const trusted = networksOf(trustedProxies);
  const held = new Map<string, number>();

  const isProxy = (address: string): boolean => {
    if (trustedProxies.length === 0) return false;
    const plain = withoutMapping(address);
    return trusted.check(plain, isIP(plain) === 4 ? 'ipv4' : 'ipv6');
  };

  const clientOf = (socketAddress: string, forwardedFor: string | undefined): string => {
    let client = socketAddress;
    const named = forwardedFor?.slice(-forwardedForMax).split(',') ?? [];
    while (isProxy(client)) {
      const address = addressIn(named.pop() ?? '');
      if (address === null) break;
      client = address;
    }
    return client;
  };

  return {
    isProxy,

    /** The nearest address that is no proxy of ours; where the proxies don't name one, the farthest of theirs. @param forwardedFor of the header, any text */
    clientOf,

    /** The same for all addresses that one client has. */
    keyOf: (...request: Parameters<typeof clientOf>) => placeKeyOf(clientOf(...request)),

    /** A place of an address and how to give it back, once or more often; null when it holds as many as it may. */
    take(address: string): (() => void) | null {
      const key = placeKeyOf(address);
      const count = held.get(key) ?? 0;
      if (count >= placesPerAddress) return null;
      held.set(key, count + 1);
      let isHeld = true;
      return () => {
        if (!isHeld) return;
        isHeld = false;
        const now = held.get(key) ?? 0;
        if (now > 1) held.set(key, now - 1);
        else held.delete(key);
      };
    },
  };
}

/** Of the header's end, some 20 to 60 hops: what stands before it, nobody whom we trust has written. */
const forwardedForMax = 1024;

function networksOf(cidrs: readonly string[]): BlockList {
  const networks = new BlockList();
  for (const cidr of cidrs) {
    const [network = '', bits] = cidr.split('/');
    networks.addSubnet(network, Number(bits), isIP(network) === 4 ? 'ipv4' : 'ipv6');
  }
  return networks;
}

/** `203.0.113.7`, `203.0.113.7:4711`, `2001:db8::7`, `[2001:db8::7]:4711`. */
function addressIn(text: string): string | null {
  const [, inBrackets] = /^\[([^\]]*)\](?::\d+)?$/.exec(text.trim()) ?? [];
  const address = inBrackets ?? text.trim().replace(/^([\d.]+):\d+$/, '$1');
  return isIP(address) === 0 ? null : address;
}

/** Of IPv6 the first 64 bits: whoever has one address of such a network has all of them. */
function placeKeyOf(address: string): string {
  const plain = withoutMapping(address);
  if (isIP(plain) !== 6) return plain;
  const [before = '', after] = plain.replace(/%.*$/, '').split('::');
  const first = groupsOf(before);
  const last = after === undefined ? [] : groupsOf(after);
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => 0);
  return [...first, ...zeros, ...last].slice(0, 4).join(':');
}

/** A dotted end stands for two groups. */
function groupsOf(text: string): number[] {
  const groups = text === '' ? [] : text.split(':');
  return groups.flatMap((group) => (group.includes('.') ? [0, 0] : [Number.parseInt(group, 16)]));
}

/** An IPv4 client of a socket that takes both is named as IPv6. */
function withoutMapping(address: string): string {
  return /^::ffff:[\d.]+$/i.test(address) ? address.slice('::ffff:'.length) : address;
}
