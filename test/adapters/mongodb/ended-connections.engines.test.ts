// Commands that are written to a connection in the very moment in which it ends: each is answered or rejects, with an error of the driver.

import { randomBytes } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { MongoError } from 'mongodb';

import { connectMongo, type MongoConnection } from '../../../src/adapters/mongodb/connection.ts';
import { engines } from '../../support/engines.ts';
import { type FaultyProxy, startFaultyProxy } from '../../support/faulty-proxy.ts';
import { until } from '../../support/until.ts';
import { silentLogger as logger } from '../sqlite/silent-logger.ts';

let proxy: FaultyProxy;
let connection: MongoConnection;
let sockets: Set<Socket>;

const noteSocket = (message: unknown) => {
  const { socket } = message as { readonly socket: Socket };
  sockets.add(socket);
  socket.once('close', () => sockets.delete(socket));
};

beforeEach(async () => {
  sockets = new Set();
  subscribe('net.client.socket', noteSocket);
  proxy = await startFaultyProxy({ target: new URL(engines().mongoUrl).host });
  const name = `herald_ended_${randomBytes(6).toString('hex')}`;
  connection = await connectMongo({ url: `mongodb://${proxy.address}/${name}?directConnection=true`, logger });
});
afterEach(async () => {
  unsubscribe('net.client.socket', noteSocket);
  await connection.db.dropDatabase();
  await connection.close();
  await proxy.close();
});

/** The moments after the news that a socket has ended: in the same call, then turns of the event loop later. */
const momentsAfterEnd: readonly ((run: () => void) => void)[] = [
  (run) => run(),
  (run) => process.nextTick(run),
  (run) => queueMicrotask(run),
  (run) => setImmediate(run),
  (run) => setImmediate(() => setImmediate(run)),
];

/** Commits as soon as the connection of the transaction has ended. What it rejects with; null: it was committed. */
async function commitAtEnd(moment: (run: () => void) => void): Promise<unknown> {
  const session = connection.client.startSession();
  session.startTransaction();
  await connection.db.collection('notes').insertOne({ at: 1 }, { session });
  const committed = Promise.withResolvers<unknown>();
  let isBegun = false;
  const commit = () => {
    if (isBegun) return;
    isBegun = true;
    session.commitTransaction().then(() => committed.resolve(null), committed.resolve);
  };
  for (const socket of sockets) socket.once('end', () => moment(commit));
  proxy.drop();
  const error = await committed.promise;
  void session.endSession().catch(() => undefined);
  return error;
}

describe('MongoDB: a commit on a connection that ends in that moment', () => {
  it('is committed or rejects, with an error of the driver, and takes no connection with it', async () => {
    const ends: unknown[] = [];
    const trying = (async () => {
      for (let round = 0; round < 8; round++)
        for (const moment of momentsAfterEnd) ends.push(await commitAtEnd(moment));
    })();
    const outcome = trying.then(
      () => 'done',
      (error: unknown) => String(error),
    );
    await until(() => ends.length === 8 * momentsAfterEnd.length, { timeoutMs: 30_000, what: 'all commits to end' });
    expect(await outcome).toBe('done');
    expect(ends.filter((error) => error !== null && !(error instanceof MongoError))).toEqual([]);
    await until(() => connection.db.command({ ping: 1 }), { what: 'the server to answer' });
  }, 60_000);
});
