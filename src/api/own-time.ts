// Requests whose bodies wait to be read: they take longer to arrive than Node gives a request (`requestTimeout`), and whoever handles them sees to the time
// that they may take.

import type { IncomingMessage } from 'node:http';

const connections = new WeakSet<object>();

/** Whoever hasn't sent all of his request when it is over may send the rest for so long, and so has his answer before the connection goes. */
export const lingerMs = 10_000;

/** Whether Node's time doesn't hold for what is being received on a connection. */
export function hasOwnTime(connection: object): boolean {
  return connections.has(connection);
}

/** Returns the call that says that the request is over: what of it is still to come is cut soon. */
export function takeOwnTime(request: IncomingMessage): () => void {
  const { socket } = request;
  connections.add(socket);
  return () => {
    if (request.complete) {
      connections.delete(socket);
      return;
    }
    const cut = setTimeout(() => {
      if (!request.complete) request.destroy();
    }, lingerMs).unref();
    request.once('close', () => {
      clearTimeout(cut);
      // Not before: Node's time is over long since, and who is cut for it has 408, behind the answer that he had.
      connections.delete(socket);
    });
  };
}
