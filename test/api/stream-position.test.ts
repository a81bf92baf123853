// Counts and live changes joined: an answer of the statistics names the place in the stream from which on it is to be gone on.

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { App } from '../support/app.ts';
import { startApp } from '../support/app.ts';
import { readEvents } from '../support/event-source.ts';
import { until } from '../support/until.ts';

let app: App;
beforeAll(async () => {
  app = await startApp({});
});
afterAll(() => app.close());

const header = 'x-stream-position';

it('a stream that begins where an answer ends tells just what the answer lacks, while much is sent', async () => {
  const tenant = await app.tenant('owner');
  const roundsMin = 6;
  const ofRound = 15;
  const joined: { readonly total: number; readonly position: string }[] = [];
  const sender = { isDone: false, sent: 0 };
  const send = async () => {
    const one = (i: number) => tenant.notify({ channel: 'IN_APP', recipient: `u-${i}`, body: `${sender.sent}` });
    await Promise.all(Array.from({ length: ofRound }, (_, i) => one(i)));
    sender.sent += ofRound;
  };
  const sending = (async () => {
    // However quick that is: until some of it was counted, and once more.
    for (let round = 0; round < roundsMin || joined.every(({ total }) => total === 0); round++) await send();
    await send();
    sender.isDone = true;
  })();
  while (!sender.isDone) {
    const { body, headers } = await tenant.dashboard('GET', '/dashboard/stats?range=all');
    const position = headers.get(header);
    if (position !== null) joined.push({ total: body.total, position });
  }
  await sending;
  const all = sender.sent;
  await until(async () => {
    const { statusCounts } = (await tenant.dashboard('GET', '/dashboard/stats?range=all')).body;
    return statusCounts.DELIVERED === all;
  });
  expect(joined.some(({ total }) => total > 0 && total < all)).toBe(true);
  const step = Math.ceil(joined.length / 8);
  for (const { total, position } of joined.filter((_, i) => i % step === 0)) {
    const stream = await readEvents(`${app.url}/api/v1/dashboard/stream?token=${tenant.token}`, {
      'last-event-id': position,
    });
    const queued = () => stream.events.filter(({ data }) => data.status === 'QUEUED').length;
    await stream.atLeast(1);
    await until(() => total + queued() >= all, { what: `${all - total} more` });
    // One more, told behind all that was missed: nothing came twice.
    expect([stream.events[0]?.data.gap, total + queued()]).toEqual([undefined, all]);
    await stream.close();
  }
});

it('an answer at rest has the id that a stream begins with', async () => {
  const tenant = await app.tenant('quiet');
  await tenant.notify({ channel: 'IN_APP', recipient: 'ada', body: 'x' });
  await until(async () => {
    const { statusCounts } = (await tenant.dashboard('GET', '/dashboard/stats?range=all')).body;
    return statusCounts.DELIVERED === 1;
  });
  const { headers } = await tenant.dashboard('GET', '/dashboard/stats?channel=EMAIL');
  const stream = await readEvents(`${app.url}/api/v1/dashboard/stream?token=${tenant.token}`, {});
  await stream.atLeast(1);
  expect(headers.get(header)).toBe(stream.events[0]?.id);
  await stream.close();
});
