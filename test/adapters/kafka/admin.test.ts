// The admin client that is kept, and when it isn't any more.

import { expect, it } from '@jest/globals';
import type { Kafka } from 'kafkajs';

import { createAdmins } from '../../../src/adapters/kafka/admin.ts';

const answered = (type: string) => Object.assign(new Error(type), { type });

it.each([
  {
    what: 'a broker that was asked did not lead the partition any more',
    error: answered('NOT_LEADER_FOR_PARTITION'),
    made: 2,
  },
  { what: 'no broker has answered', error: new Error('Connection error'), made: 2 },
  { what: 'a broker has answered otherwise', error: answered('TOPIC_AUTHORIZATION_FAILED'), made: 1 },
])('after $what there are $made of them with the next use', async ({ error, made }) => {
  let count = 0;
  const admin = () => {
    count++;
    return { connect: async () => {}, disconnect: async () => {} };
  };
  const admins = createAdmins({ admin } as unknown as Kafka);
  await expect(admins.use(() => Promise.reject(error))).rejects.toBe(error);
  await admins.use(async () => {});
  expect(count).toBe(made);
});
