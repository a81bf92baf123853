// The public admin client, made anew when its connections have failed: kafkajs may go on with half an answer in the buffer of a connection that broke. And when it
// asks who led a partition before: kafkajs itself asks anew who leads only after five minutes.

import type { Admin, Kafka } from 'kafkajs';

import { answeredError } from './kafka-errors.ts';

export interface Admins {
  /** Connects when it must. Rejects with what `work` rejects with. */
  use<T>(work: (admin: Admin) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export function createAdmins(kafka: Kafka): Admins {
  let current: Promise<Admin> | null = null;
  let isClosed = false;

  const connect = async (): Promise<Admin> => {
    const admin = kafka.admin();
    try {
      await admin.connect();
      return admin;
    } catch (error) {
      admin.disconnect().catch(() => {});
      throw error;
    }
  };

  const forget = (admin: Promise<Admin>) => {
    if (current !== admin) return;
    current = null;
    admin.then((of) => of.disconnect()).catch(() => {});
  };

  return {
    async use(work) {
      if (isClosed) throw new Error('the connections to the brokers are closed');
      const admin = (current ??= connect());
      try {
        return await work(await admin);
      } catch (error) {
        if ([null, 'NOT_LEADER_FOR_PARTITION'].includes(answeredError(error))) forget(admin);
        throw error;
      }
    },
    async close() {
      isClosed = true;
      const admin = current;
      current = null;
      await admin?.then((of) => of.disconnect()).catch(() => {});
    },
  };
}
