// What an email address is, and its form on the wire.

import { describe, expect, it } from '@jest/globals';

import { asciiAddress } from '../../src/domain/email-address.ts';

describe('an email address', () => {
  it.each([
    'ada@example.com',
    'A.d-a+tag@Mail.Example.com',
    "o'hara@example.co.uk",
    'a@xn--bcher-kva.example',
    `a@example.xn--p1ai`,
  ])('in ASCII goes out as it is: %s', (address) => expect(asciiAddress(address)).toBe(address));

  it.each([
    ['ada@bücher.example', 'ada@xn--bcher-kva.example'],
    ['Ada@BÜCHER.Example', 'Ada@xn--bcher-kva.example'],
    ['ada@bu\u0308cher.example', 'ada@xn--bcher-kva.example'],
    ['ada@faß.example', 'ada@xn--fa-hia.example'],
    ['ada@почта.рф', 'ada@xn--80a1acny.xn--p1ai'],
    ['ada@例え.テスト', 'ada@xn--r8jz45g.xn--zckzah'],
  ])('at an internationalised domain goes out as its name in ASCII: %s', (address, ascii) => {
    expect(asciiAddress(address)).toBe(ascii);
  });

  it.each([
    'ada',
    'ada@localhost',
    'ada@127.0.0.1',
    'ada@example.com.',
    'ada@.example.com',
    'ada@example..com',
    '.ada@example.com',
    'a..da@example.com',
    'ada.@example.com',
    'ä@example.com',
    'ada@exa\u00admple.com',
    'ada@exam\u200bple.com',
    '\u202eada@example.com',
    'ada@ｅｘａｍｐｌｅ.com',
    'ada@example。com',
    'ada@\u212aelvin.example',
    'ada@bücher.example/path',
    'ada@bücher.example:25',
    'ada@bü cher.example',
    'ada@bü%20cher.example',
    'ada@bücher.example, eve@example.net',
    'ada@eve@bücher.example',
    'Ada <ada@bücher.example>',
    `ada@${'ü'.repeat(70)}.example`,
    `${'a'.repeat(65)}@example.com`,
    `a@${'bü.'.repeat(40)}example`,
  ])('is none, if it is more than one plain address, or another way to write one: %s', (address) => {
    expect(asciiAddress(address)).toBeNull();
  });
});
