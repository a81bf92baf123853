// How the body of a batch is cut into items: the same ones however its bytes arrive.

import { describe, expect, it } from '@jest/globals';

import type { BatchFormat } from '../../src/api/batch-items.ts';
import { batchLimits, itemsOf } from '../../src/api/batch-items.ts';
import fc from '../support/properties.ts';

async function cut(text: string | Buffer, format: BatchFormat, sizes: readonly number[] = [64 * 1024]) {
  const bytes = Buffer.from(text);
  async function* chunks() {
    for (let at = 0, i = 0; at < bytes.length; i++) {
      const size = sizes[i % sizes.length] ?? 1;
      yield bytes.subarray(at, at + size);
      at += size;
    }
  }
  const told: (string | { kind: string; code: string })[] = [];
  for await (const items of itemsOf(chunks(), format))
    for (const item of items) told.push(item.kind === 'item' ? item.text : { kind: item.kind, code: item.error.code });
  return told;
}

const parsed = (told: unknown): unknown => (typeof told === 'string' ? JSON.parse(told) : told);
const bad = { kind: 'bad', code: 'BAD_REQUEST' };
const end = { kind: 'end', code: 'BAD_REQUEST' };
const anyChunks = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 });
const anyItems = fc.array(fc.jsonValue({ maxDepth: 4 }), { maxLength: 12 });

describe('the items of a batch', () => {
  it('are those of the list, however the bytes arrive and the text is spaced', async () => {
    await fc.assert(
      fc.asyncProperty(anyItems, anyChunks, fc.constantFrom(0, 1, '\t'), async (items, sizes, space) => {
        const told = await cut(JSON.stringify({ notifications: items }, null, space), 'json', sizes);
        expect(told.map(parsed)).toEqual(JSON.parse(JSON.stringify(items)));
      }),
    );
  });

  it('are the lines that have anything in them', async () => {
    await fc.assert(
      fc.asyncProperty(anyItems, anyChunks, fc.constantFrom('\n', '\r\n', '\n\n \n'), async (items, sizes, between) => {
        const told = await cut(items.map((item) => JSON.stringify(item)).join(between), 'ndjson', sizes);
        expect(told.map(parsed)).toEqual(JSON.parse(JSON.stringify(items)));
      }),
    );
  });

  it.each([
    ['', [end]],
    ['[]', [end]],
    ['{"items":[]}', [end]],
    [`{${' '.repeat(2000)}"notifications":[]}`, [end]],
    ['{"notifications":[]}', []],
    ['{"notifications":[1', [end]],
    ['{"notifications":[1]', ['1', end]],
    ['{"notifications":[1],"more":2}', ['1', end]],
    ['{"notifications":[1]} x', ['1', end]],
    ['{"notifications":[1,,2]}', ['1', bad, '2']],
    ['{"notifications":[1,]}', ['1', bad]],
    ['{"notifications":[{"a":1],{"b":"]},{\\""}]}', ['{"a":1]', '{"b":"]},{\\""}']],
  ])('of %j', async (text, told) => {
    expect(await cut(text, 'json')).toEqual(told);
    expect(await cut(text, 'json', [1])).toEqual(told);
  });

  it('that are no UTF-8 are told, wherever the bytes are cut, and those that mean the sign for it are none of them', async () => {
    const broken = Buffer.from('"Grüße"\n"x\uFFFD"\n"\x00"\n"\u{1F600}"');
    broken[broken.indexOf(0)] = 0xff;
    for (const size of [1, 2, 3, 5, 1000])
      expect(await cut(broken, 'ndjson', [size])).toEqual(['"Grüße"', '"x\uFFFD"', bad, '"\u{1F600}"']);
    const list = Buffer.concat([
      Buffer.from('{"notifications":["ü",'),
      Buffer.from([0x22, 0xc3, 0x22]),
      Buffer.from(']}'),
    ]);
    for (const size of [1, 3, 1000]) expect(await cut(list, 'json', [size])).toEqual(['"ü"', bad]);
  });

  it('over their size are told and not kept, and harm no other', async () => {
    const large = `"${'x'.repeat(batchLimits.itemBytesMax)}"`;
    const tooLarge = { kind: 'bad', code: 'PAYLOAD_TOO_LARGE' };
    expect(await cut(`{"notifications":[1,${large},2]}`, 'json')).toEqual(['1', tooLarge, '2']);
    expect(await cut(`1\n${large}\n2\n`, 'ndjson')).toEqual(['1', tooLarge, '2']);
  });

  it('end at their number, and at the size of a batch', async () => {
    const tooMuch = { kind: 'end', code: 'PAYLOAD_TOO_LARGE' };
    const many = await cut('1\n'.repeat(batchLimits.itemsMax + 5), 'ndjson');
    expect([many.length, many.at(-1)]).toEqual([batchLimits.itemsMax + 1, tooMuch]);
    const line = `"${'x'.repeat(200 * 1024)}"\n`;
    const large = await cut(line.repeat(170), 'ndjson');
    expect(large.at(-1)).toEqual(tooMuch);
    expect(large.length).toBeLessThan(170);
  });

  it('end where empty lines are one too many, of whatever white space and wherever they are', async () => {
    const tooMuch = { kind: 'end', code: 'PAYLOAD_TOO_LARGE' };
    const { blankLinesMax } = batchLimits;
    for (const blank of ['\n', ' \t\r\n']) {
      const half = blank.repeat(blankLinesMax / 2);
      expect(await cut(`${half}1\n${half}2\n`, 'ndjson')).toEqual(['1', '2']);
      expect(await cut(`${half}1\n${half}2\n${blank}3\n`, 'ndjson')).toEqual(['1', '2', tooMuch]);
    }
  });
});
