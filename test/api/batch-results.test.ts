// What is kept of a batch's results until all of it is taken in: whatever is wrong with its items, and whatever their fields are called.

import { describe, expect, it } from '@jest/globals';

import { createResults, resultsBytesMax } from '../../src/api/batch-results.ts';
import { notificationRequest } from '../../src/api/notification-request.ts';
import { checkStrings } from '../../src/api/text-check.ts';
import { DomainError } from '../../src/domain/errors.ts';
import type { BatchId, TenantId } from '../../src/domain/ids.ts';
import { lackingNames } from '../../src/domain/template.ts';
import { noTrace } from '../../src/domain/trace-context.ts';

describe('the results of a batch', () => {
  it('take 2 MiB and a short sentence for each item, however long what is wrong is', () => {
    const results = createResults({ error() {} }, 'batch_1' as BatchId);
    const items = 10_000;
    const names = Array.from({ length: 10 }, (_, i) => `${i}`.padEnd(256, 'x'));
    for (let at = 0; at < items; at++) results.refuse(at, lackingNames(names));
    const { rejected, results: texts } = results.taken();
    expect(rejected).toBe(items);
    expect(texts.join(',').length).toBeLessThan(resultsBytesMax + items * 350);
    expect(JSON.parse(texts.at(-1) ?? '')).toMatchObject({
      index: items - 1,
      error: expect.stringMatching(/^data: lacks what the template asks for: 0x/),
      details: [],
    });
  });
});

describe('a field that its caller has named', () => {
  const outbound = { problemWithUrl: () => null };
  const sender = { tenantId: 'tnt_a' as TenantId, trace: noTrace };
  const long = 'k'.repeat(250_000);
  const sent = { channel: 'IN_APP', recipient: 'bob', body: 'hi' };
  const request = (more: object) => notificationRequest({ ...sent, ...more }, sender, 0, outbound);

  it.each([
    ['of metadata', 'metadata.', () => request({ metadata: { [long]: 'v' } })],
    ['that there is not', '', () => request({ [long]: 1 })],
    ['with text that is none', 'data.', () => checkStrings({ data: { [long]: '\u0000' } })],
  ])('is told by the beginning of its name: %s', (_which, before, act) => {
    let refusal: unknown;
    try {
      act();
    } catch (error) {
      refusal = error;
    }
    expect(refusal).toBeInstanceOf(DomainError);
    const { message, details } = refusal as DomainError;
    expect(details).toMatchObject([{ path: `${before}${'k'.repeat(200)}` }]);
    expect(message.length).toBeLessThan(300);
  });
});
