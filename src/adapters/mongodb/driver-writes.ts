// Mends how the driver writes a command to a connection that ends in that moment: it waited for ever, or failed with an error that it can't read itself.
// mongodb 7.8.0, when a write isn't taken at once, waits for the socket's `drain` or `error`. A socket that the other side has just ended takes no
// write and may say neither any more: the command never ends, and its connection is never given back to the pool. Or it says `error`, and that raw error
// of Node reaches commitTransaction, which looks for labels of a MongoError in it (TypeError: error.hasErrorLabel is not a function).
// The connection itself knows that it has ended, and by which MongoError: the driver asks it as soon as the write is over (`throwIfAborted`).

import { Connection } from 'mongodb/lib/cmap/connection.js';

const mended = Symbol.for('herald.mongodb.driver-writes');

/** Once for all connections of the process; safe to repeat. */
export function mendDriverWrites(): void {
  const prototype: typeof Connection.prototype & { [mended]?: true } = Connection.prototype;
  if (prototype[mended] === true) return;
  const write = prototype.writeCommand;
  prototype.writeCommand = async function (this: Connection, command, options) {
    const ended = Promise.withResolvers<void>();
    this.once('close', ended.resolve);
    try {
      // The write is over, in whichever way, once the connection is.
      await Promise.race([write.call(this, command, options), ended.promise]);
    } finally {
      this.off('close', ended.resolve);
    }
  };
  prototype[mended] = true;
}
