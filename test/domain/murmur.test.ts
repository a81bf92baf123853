// The hashes that a log keeps forever, against published vectors.

import { describe, expect, it } from '@jest/globals';

import { murmur2, murmur3 } from '../../src/domain/murmur.ts';

const pangram = 'The quick brown fox jumps over the lazy dog';

function hex(text: string): string {
  return murmur3(text)
    .map((word) => word.toString(16).padStart(8, '0'))
    .join('');
}

describe('murmur2', () => {
  // org.apache.kafka.common.utils.UtilsTest.testMurmur2, before Kafka's toPositive.
  it.each([
    ['21', -973932308],
    ['foobar', -790332482],
    ['a-little-bit-long-string', -985981536],
    ['a-little-bit-longer-string', -1486304829],
    ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
    ['abc', 479470107],
  ])("hashes '%s' as Kafka's clients do, with the sign taken off", (text, signed) => {
    expect(murmur2(text)).toBe(signed & 0x7fffffff);
  });

  it('hashes the UTF-8 bytes of a text, not its UTF-16 units', () => {
    expect(murmur2('Zoë')).not.toBe(murmur2('Zo\u00c3\u00ab'));
    expect(murmur2('Zoë')).toBe(841_026_334);
  });
});

describe('murmur3', () => {
  // From the reference code (MurmurHash3_x86_128, SMHasher verification value B3ECE62A): every length of the tail, one block and several.
  it.each([
    [0, '00000000000000000000000000000000'],
    [1, '312658d4d32cba11d32cba11d32cba11'],
    [2, 'ee15ba685ea9dec05ea9dec05ea9dec0'],
    [3, '41d0bf79d27be85ed27be85ed27be85e'],
    [4, '00251e65aa6e1ea2aa6e1ea2aa6e1ea2'],
    [5, '392b67e0b9c452b8bfcc773cbfcc773c'],
    [6, '02910834fa14aab42b714bbf2b714bbf'],
    [7, 'a09f763b35527f9cddf6976eddf6976e'],
    [8, '66b6c80ac96f1f6d6d8a09806d8a0980'],
    [9, 'bac5d673cbc4cff3deb68d0969c8528f'],
    [10, '9bf1477a73c5b1aa852e56f2dff305b6'],
    [11, '0c71da9eab63cd6f41612928a3768855'],
    [12, 'c628765f4e4398a8ebb5df5e5b59e222'],
    [13, 'e3c36e462fda1565cea4d9577990934f'],
    [14, '08bcd16f0f9b125b364ee8974772cb63'],
    [15, 'cad356cfebdbe4935f9fcb222cc8a286'],
    [16, '05af2e9885dc9f007a560e931005cf2a'],
    [17, '315057c366c13ca3828c6941b7707639'],
    [31, '9756d6dd03ee8189b6d1f56e23a827f6'],
    [32, '7fc78aad2d537202102e762c393ef0c1'],
    [33, 'ad6ec1aed6ad260a9d041c4aebac7c8b'],
    [43, '2f1583c3ecee2c675d7bf66ce5e91d2c'],
  ])('hashes %i bytes as the reference code does', (length, expected) => {
    expect(hex(pangram.slice(0, length))).toBe(expected);
  });

  it('gives four words without a sign', () => {
    expect(hex('I will not buy this record, it is scratched.')).toBe('a0a9683b25ac5e40d9af2895890dddf5');
    for (const word of murmur3(pangram)) expect(word).toBeGreaterThanOrEqual(0);
  });
});
