// Whose a request is, whatever X-Forwarded-For claims, and how many places an address holds.

import { describe, expect, it } from '@jest/globals';

import { createClientAddresses } from '../../src/api/client-addresses.ts';

const behind = (...trustedProxies: string[]) => createClientAddresses({ trustedProxies, placesPerAddress: 2 });
const proxied = behind('10.0.0.0/8', '2001:db8:cafe::/48', '127.0.0.1/32');

describe('the client of a request', () => {
  it.each([
    // socket, X-Forwarded-For, client
    ['203.0.113.7', undefined, '203.0.113.7'],
    ['10.0.0.1', '203.0.113.7', '203.0.113.7'],
    ['::ffff:10.0.0.1', '203.0.113.7', '203.0.113.7'],
    ['2001:db8:cafe::1', '2001:db8::7', '2001:db8::7'],
    ['10.0.0.1', '203.0.113.7, 10.0.0.2', '203.0.113.7'],
    ['10.0.0.1', ' 203.0.113.7:4711 ', '203.0.113.7'],
    ['10.0.0.1', '[2001:db8::7]:4711', '2001:db8::7'],
    ['10.0.0.1', '[2001:db8::7]', '2001:db8::7'],
  ])('is who the proxies that are trusted name: %s saying %s', (socket, header, client) => {
    expect(proxied.clientOf(socket, header)).toBe(client);
  });

  it.each([
    ['is no proxy', '203.0.113.7', '198.51.100.1', '203.0.113.7'],
    ['is no proxy and names one', '203.0.113.7', '10.0.0.9', '203.0.113.7'],
    ['claims to be somebody else before the proxy adds it', '10.0.0.1', '198.51.100.1, 203.0.113.7', '203.0.113.7'],
    ['claims to be proxies', '10.0.0.1', '198.51.100.1, 10.0.0.9, 203.0.113.7', '203.0.113.7'],
    ['claims a thousand others', '10.0.0.1', `${'198.51.100.1, '.repeat(1000)}203.0.113.7`, '203.0.113.7'],
  ])('is not who it claims to be, when it %s', (_, socket, header, client) => {
    expect(proxied.clientOf(socket, header)).toBe(client);
  });

  it.each(['', 'unknown', '_hidden', '203.0.113.300', '1.2.3.4.5', '[::1', '203.0.113.7;', ',', '\u0000'])(
    'whom the proxy names by what is no address (%j) is the proxy',
    (header) => {
      expect(proxied.clientOf('10.0.0.1', header)).toBe('10.0.0.1');
    },
  );

  it('is the farthest proxy when there are proxies alone', () => {
    expect(proxied.clientOf('10.0.0.1', '10.0.0.3, 10.0.0.2')).toBe('10.0.0.3');
  });

  it('is who connects where no proxy is trusted', () => {
    const direct = behind();
    expect(direct.isProxy('127.0.0.1')).toBe(false);
    expect(direct.clientOf('127.0.0.1', '203.0.113.7')).toBe('127.0.0.1');
  });
});

describe('the places of an address', () => {
  it('are as many as it may hold, and free again when they are given back, each once', () => {
    const addresses = behind();
    const first = addresses.take('203.0.113.7');
    expect(addresses.take('203.0.113.7')).not.toBeNull();
    expect(addresses.take('203.0.113.7')).toBeNull();
    expect(addresses.take('203.0.113.8')).not.toBeNull();
    first?.();
    first?.();
    expect(addresses.take('203.0.113.7')).not.toBeNull();
    expect(addresses.take('203.0.113.7')).toBeNull();
  });

  it.each([
    ['an IPv4 address however the socket spells it', ['203.0.113.7', '::ffff:203.0.113.7', '::FFFF:203.0.113.7']],
    ['a network of IPv6', ['2001:db8:1:2::7', '2001:db8:1:2:ffff:ffff:ffff:ffff', '2001:db8:1:2:3::']],
    ['a network of IPv6 that begins with zeros', ['::1', '0:0:0:0:1::', '::2']],
    ['a network of IPv6 with a dotted end', ['64:ff9b::203.0.113.7', '64:ff9b::1', '64:ff9b:0:0::2']],
    ['a link', ['fe80::1%eth0', 'fe80::2%eth1', 'fe80::3']],
  ])('are shared by %s', (_, [a = '', b = '', c = '']) => {
    const addresses = behind();
    expect(addresses.take(a)).not.toBeNull();
    expect(addresses.take(b)).not.toBeNull();
    expect(addresses.take(c)).toBeNull();
  });

  it('are not shared by two networks of IPv6', () => {
    const addresses = createClientAddresses({ trustedProxies: [], placesPerAddress: 1 });
    for (const address of ['2001:db8:1:2::7', '2001:db8:1:3::7', '2001:db8::7', '::1', '1::'])
      expect(addresses.take(address)).not.toBeNull();
  });
});
