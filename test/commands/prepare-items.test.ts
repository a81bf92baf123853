// Items of a batch made ready: in their order, in slices that are bounded by what their texts have become and by how long that held the thread.

import { describe, expect, it } from '@jest/globals';

import type { NotificationInput, Prepared } from '../../src/commands/accept-notification.ts';
import type { Preparation } from '../../src/commands/prepare-items.ts';
import { prepareItems, sliceLimits } from '../../src/commands/prepare-items.ts';
import { inLineMax } from '../../src/commands/render-in-line.ts';
import type { TenantId } from '../../src/domain/ids.ts';
import type { Template } from '../../src/domain/tenant.ts';
import { bodyBytesMax } from '../../src/domain/template.ts';
import { noTrace } from '../../src/domain/trace-context.ts';
import type { RenderedTemplate, TemplateRenderer } from '../../src/ports/template-renderer.ts';

const tenantId = 'tnt_a' as TenantId;
const template = {
  id: 't',
  name: 'welcome',
  version: 1,
  channel: 'IN_APP',
  subject: null,
  body: '{{ n }}',
  strict: false,
};
const plain: NotificationInput = {
  tenantId,
  channel: 'IN_APP',
  recipient: 'ada',
  priority: 'DEFAULT',
  template: null,
  subject: null,
  body: 'hi',
  data: null,
  dataText: '{}',
  metadata: {},
  strict: null,
  sendAt: null,
  expiry: null,
  replyTo: null,
  cc: [],
  bcc: [],
  transactional: false,
  resendOf: null,
  trace: noTrace,
};
const filled = (n: number): NotificationInput => ({ ...plain, template: 'welcome', body: null, data: { n } });
const many = <T>(count: number, of: (n: number) => T): readonly T[] => Array.from({ length: count }, (_, n) => of(n));

/** A text begins with its item's number. */
const textOf = (n: unknown, bytes: number): RenderedTemplate => ({
  subject: null,
  body: String(n).padEnd(bytes, '.'),
  bodyFormat: 'text',
});
const numberIn = (one: Preparation): number => Number.parseInt((one as Prepared).rendered.body, 10);

/** @param nowMs by the clock that the thread's time is told by */
function slicesOf(
  inputs: readonly NotificationInput[],
  render: TemplateRenderer['render'],
  nowMs: () => number = () => 0,
): AsyncGenerator<readonly Preparation[], void> {
  const directory = {
    templateByName: async () => template as unknown as Template,
    canDeliver: async () => true,
  };
  return prepareItems({ directory, renderer: { render }, clock: { monotonic: nowMs } })(tenantId, inputs);
}

const all = async (slices: AsyncIterable<readonly Preparation[]>): Promise<(readonly Preparation[])[]> => {
  const taken: (readonly Preparation[])[] = [];
  for await (const slice of slices) taken.push(slice);
  return taken;
};

describe('items of a batch are made ready', () => {
  it('in slices of a quarter of a MiB of what was filled in, whatever asked for it, and none is before it is asked for', async () => {
    const bytes = 60 * 1024;
    let rendered = 0;
    const slices = slicesOf(many(20, filled), (_source, { n }) => {
      rendered++;
      return textOf(n, bytes);
    });
    const { value: first } = await slices.next();
    const ofSlice = Math.ceil(sliceLimits.bytesMax / bytes);
    expect([first?.length, rendered]).toEqual([ofSlice, ofSlice]);
    const others = await all(slices);
    expect(others.map(({ length }) => length)).toEqual([5, 5, 5]);
    expect([...(first ?? []), ...others.flat()].map(numberIn)).toEqual(many(20, (n) => n));
  });

  it('in slices that hold the thread for some ms, also where all of it comes to nothing', async () => {
    let nowMs = 0;
    const slices = slicesOf(
      many(9, filled),
      (_source, { n }) => {
        nowMs++;
        if (n !== 8) throw new Error('it is wrong');
        return textOf(n, 10);
      },
      () => nowMs,
    );
    expect((await all(slices)).map((slice) => slice.map((one) => 'kind' in one))).toEqual([
      ...many(4, () => [true, true]),
      [false],
    ]);
  });

  it('all at once where nothing is filled in, and nobody looks at the clock', async () => {
    const never = () => {
      throw new Error('not asked for');
    };
    const slices = await all(
      slicesOf(
        many(500, () => plain),
        never,
        never,
      ),
    );
    expect(slices.map(({ length }) => length)).toEqual([500]);
  });

  it('in their order where a thread fills some of them in, which has the next few while the first is waited for', async () => {
    const held = new Map<number, PromiseWithResolvers<RenderedTemplate>>();
    const slices = slicesOf(many(30, filled), (_source, { n }) => {
      if (Number(n) % 3 === 0) return textOf(n, 10);
      const rendering = Promise.withResolvers<RenderedTemplate>();
      held.set(Number(n), rendering);
      return rendering.promise;
    });
    const taken = all(slices);
    let most = 0;
    for (let ended = 0; ended < 20; ended++) {
      await new Promise((resolve) => setImmediate(resolve));
      most = Math.max(most, held.size);
      // The newest first: nothing goes before what was begun earlier.
      const [n, rendering] = [...held].at(-1) ?? [];
      held.delete(n ?? -1);
      rendering?.resolve(textOf(n, bodyBytesMax));
    }
    const made = await taken;
    expect(most).toBeLessThanOrEqual(inLineMax);
    expect(made.flat().map(numberIn)).toEqual(many(30, (n) => n));
    for (const slice of made.slice(0, -1)) expect(slice.length).toBeLessThanOrEqual(4);
  });
});
