// Numbers of a request that JSON.parse would change are refused with their path; all others come back as they were sent.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { checkNumbers, isExact } from '../../src/api/exact-numbers.ts';
import { type App, startApp } from '../support/app.ts';
import fc from '../support/properties.ts';
import { cpuMsSince, threadCpuMsMax } from '../support/thread-cpu.ts';

describe('a number', () => {
  it.each(['1e400', '-1e400', '1e-400', '9007199254740993', '-9007199254740993', '123456789012345678', '4.9e-324'])(
    '%s is not exact',
    (source) => expect(isExact(source)).toBe(false),
  );
  const exact = [
    '0',
    '-0',
    '-0.0',
    '0e999999999999',
    '9007199254740992',
    '1e2',
    '1.50E+3',
    '0.1',
    '0.30000000000000004',
  ];
  const longer = ['100000000000000000000000', '0.10000000000000000000', '1.7976931348623157e308', '5e-324', '1e291'];
  it.each([...exact, ...longer])('%s is exact', (source) => expect(isExact(source)).toBe(true));

  it('that is written by JavaScript is exact, whichever it is', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(isExact(String(value))).toBe(true);
        expect(isExact(value.toExponential())).toBe(true);
      }),
    );
  });

  it('however it is written, is exact where it is the decimal that it is read as', () => {
    const written = fc.tuple(fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }), fc.integer({ min: -345, max: 310 }));
    fc.assert(
      fc.property(written, fc.nat({ max: 19 }), ([digits, power], zeros) => {
        const short = digits / 10n ** BigInt(zeros);
        const read = Number(`${short}e${power}`);
        const isSame = Number.isFinite(read) && scaled(read.toExponential()) === scaled(`${short}e${power}`);
        expect(isExact(`${short}e${power}`)).toBe(isSame);
        expect(isExact(`${short}.000E${power}`)).toBe(isSame);
      }),
      { numRuns: 2000 },
    );
  });

  it('with one digit more than the shortest that means it is not', () => {
    const seventeen = fc.tuple(fc.integer({ min: 1, max: 9 }), fc.bigInt({ min: 10n ** 18n, max: 10n ** 19n - 1n }));
    fc.assert(
      fc.property(seventeen, ([whole, fraction]) => {
        const source = `${whole}.${fraction}`.replace(/0+$/, '');
        expect(isExact(source)).toBe(String(Number(source)) === source);
      }),
    );
  });
});

describe('a body', () => {
  it.each([
    ['{"data":{"n":1e400}}', 'data.n'],
    ['{"data":{"orders":[1,{"id":2},{"id":9007199254740993}]}}', 'data.orders.2.id'],
    ['{"a":"1e400","b" : [ "]" , 1e1, {"x\\"y":1, "z" :  -12345678901234567890123} ]}', 'b.2.z'],
    ['{"a":[[],[1e400]]}', 'a.1.0'],
    ['{"a\\u0041":{"":1e400}}', 'aA.'],
  ])('%s names %s', (text, path) => {
    expect(() => checkNumbers(text)).toThrow(expect.objectContaining({ details: [expect.objectContaining({ path })] }));
  });

  it('names whichever value JSON.parse changes, wherever it stands', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.boolean(), (value, isChanged) => {
        const text = JSON.stringify({ before: value, changed: 'here', behind: value });
        const number = isChanged ? '9007199254740993' : '9007199254740992';
        const check = () => checkNumbers(text.replace('"here"', () => number));
        if (isChanged)
          expect(check).toThrow(expect.objectContaining({ details: [expect.objectContaining({ path: 'changed' })] }));
        else expect(check).not.toThrow();
      }),
    );
  });

  it('that only looks like it passes', () => {
    for (const text of ['{"a":"b:1e400, 12345678901234567"}', '{"a:1e400":1}', '{"a":"\\\\","b":"[1e400"}'])
      expect(() => checkNumbers(text)).not.toThrow();
  });
});

describe('256 KiB of numbers hold the thread for a moment', () => {
  const room = 256 * 1024 - 200;
  const full = (unit: string) =>
    Array(Math.floor(room / (unit.length + 1)))
      .fill(unit)
      .join(',');
  it.each([
    ['1e1', full('1e1')],
    ['1e300', full('1e300')],
    ['the greatest power', full('1e308')],
    ['nearly the least', full('1e-310')],
    ['16 digits behind the point', full('0.1234567890123456')],
    ['16 digits and a power', full('1.234567890123456e5')],
    ['16 digits', full('9007199254740992')],
    ['in arrays', full('[1e1]')],
    ['in 30 arrays', `${'['.repeat(30)}${full('1e308')}${']'.repeat(30)}`],
    ['in objects', full('{"a":1e308}')],
    ['of 10,000 digits', full(`1${'0'.repeat(300)}.${'0'.repeat(10_000)}`)],
    ['of one number', `1.${'0'.repeat(room)}`],
    ['that isn’t exact, in the end', `${full('1e308')},1e400`],
  ])('%s', (_, numbers) => {
    const text = `{"data":{"a":[${numbers}]}}`;
    const before = process.threadCpuUsage();
    const check = () => checkNumbers(text);
    if (text.includes('1e400')) expect(check).toThrow();
    else check();
    expect(cpuMsSince(before)).toBeLessThan(threadCpuMsMax);
  });
});

describe('a request', () => {
  let app: App;
  let tenant: Awaited<ReturnType<App['tenant']>>;
  beforeAll(async () => {
    app = await startApp({ delivers: false });
    tenant = await app.tenant('owner');
  });
  afterAll(() => app.close());

  const refusal = {
    status: 400,
    body: {
      code: 'BAD_REQUEST',
      details: [{ path: 'data.n', message: expect.stringContaining('send it as a string') }],
    },
  };

  it.each(['1e400', '9007199254740993'])(
    'with %s in its data is 400 that names it, and nothing is accepted',
    async (n) => {
      const body = `{"channel":"IN_APP","recipient":"ada","body":"{{ n }}","data":{"n":${n}}}`;
      const type = { 'content-type': 'application/json' };
      expect(await tenant.notify(body, type)).toMatchObject(refusal);
      const { body: made } = await tenant.dashboard('POST', '/templates', {
        name: `t${n}`,
        channel: 'SMS',
        body: '{{ n }}',
      });
      const preview = `/templates/${made.id}/preview`;
      expect(await tenant.dashboard('POST', preview, `{"data":{"n":${n}}}`, type)).toMatchObject(refusal);
    },
  );

  it('with numbers that are exact shows them as they are', async () => {
    const template = { name: 'exact', channel: 'SMS', body: '{{ a }} {{ b }} {{ c }}' };
    const { body: made } = await tenant.dashboard('POST', '/templates', template);
    const data = '{"data":{"a":9007199254740992,"b":1e2,"c":0.30000000000000004}}';
    const type = { 'content-type': 'application/json' };
    const { body } = await tenant.dashboard('POST', `/templates/${made.id}/preview`, data, type);
    expect(body.body).toBe('9007199254740992 100 0.30000000000000004');
  });
});

/** A decimal as a whole number, by 10 to the 400th. */
function scaled(text: string): bigint {
  const [, sign = '', whole = '', fraction = '', power = '0'] = /^(-?)(\d+)(?:\.(\d+))?e([+-]?\d+)$/.exec(text) ?? [];
  const digits = BigInt(`${sign}${whole}${fraction}`);
  return digits * 10n ** BigInt(400 + Number(power) - fraction.length);
}
