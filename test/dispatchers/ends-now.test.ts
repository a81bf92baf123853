import { expect, it } from '@jest/globals';

import { createEndsNow } from '../../src/dispatchers/ends-now.ts';
import { workTopic } from '../../src/domain/topics.ts';
import type { Topic } from '../../src/domain/topics.ts';

const high = workTopic('WEBHOOK', 'HIGH');
const bulk = workTopic('WEBHOOK', 'BULK');

function counted(answer: (topic: Topic, asked: number) => Promise<readonly number[]>) {
  const asked: Topic[] = [];
  const endsNow = createEndsNow({
    ends(topic) {
      asked.push(topic);
      return answer(topic, asked.length);
    },
  });
  return { asked, endsNow };
}

it('asks once a topic for the numbers of one turn, and again for those of a later one', async () => {
  const { asked, endsNow } = counted(async (_, nth) => [nth * 10, nth * 10 + 1]);
  const together = [0, 1].map((partition) => endsNow({ topic: high, partition }));
  const other = endsNow({ topic: bulk, partition: 1 });
  expect(await Promise.all([...together, other])).toEqual([10, 11, 21]);
  expect(asked).toEqual([high, bulk]);
  expect(await endsNow({ topic: high, partition: 0 })).toBe(30);
});

it('begins after the call: what the log took before it is below', async () => {
  let end = 5;
  const { endsNow } = counted(async () => [end]);
  const asking = endsNow({ topic: high, partition: 0 });
  end = 7;
  expect(await asking).toBe(7);
});

it('knows no end where the log can not say, and asks again', async () => {
  const { endsNow } = counted((_, nth) => (nth === 1 ? Promise.reject(new Error('away')) : Promise.resolve([3])));
  expect(await endsNow({ topic: high, partition: 0 })).toBe(Infinity);
  expect(await endsNow({ topic: high, partition: 0 })).toBe(3);
  expect(await endsNow({ topic: high, partition: 1 })).toBe(Infinity);
});
