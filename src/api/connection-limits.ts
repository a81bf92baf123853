// What one connection may bring before anybody knows whose it is: each request and each piece of a body is an object and some 2 to 20 us of the thread, which
// Node makes as fast as they come. A sender that asks for more is cut off.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Requests of a connection without their answers (pipelining): 1,500 of 40 bytes come in one read, and the next ones behind them, without an end. */
const unansweredMax = 100;
/** Of a body, however small: a client that streams sends its items or its tokens in chunks of their own. */
const piecesFree = 1_000;
/** On the average, beyond these. An item of a batch has 48 at least. */
const pieceBytesMin = 32;

export type Excess = 'pieces' | 'unanswered';

interface Parser {
  readonly constructor: { readonly kOnBody: number };
  readonly socket: Socket | null;
  readonly incoming: IncomingMessage | null;
  [callback: number]: (piece: Buffer) => void;
}

interface Told {
  /** Once, of a connection that is over its limits; nothing of what else it has brought is served. */
  cut(socket: Socket, excess: Excess): void;
  /** Of a body in many pieces, whenever so many more have come. */
  came(socket: Socket, pieces: number): void;
}

/** Who is told of each connection that is bounded. */
const toldOf = new WeakMap<Socket, Told>();
/** A body in fewer pieces is told of to nobody. */
const piecesTold = 256;
/** Of each parser how to let go of what it parsed last: Node keeps them, for one connection of the process after another. */
const counting = new WeakMap<Parser, () => void>();

/** @returns to be called when its connection has ended */
function countPieces(parser: Parser): () => void {
  const known = counting.get(parser);
  if (known !== undefined) return known;
  const { kOnBody } = parser.constructor;
  const onBody = parser[kOnBody] as Parser[number];
  let of: IncomingMessage | null = null;
  let pieces = 0;
  let bytes = 0;
  parser[kOnBody] = function counted(this: Parser, piece) {
    if (this.incoming !== of) {
      of = this.incoming;
      pieces = 0;
      bytes = 0;
    }
    pieces++;
    bytes += piece.length;
    const { socket } = this;
    if (pieces % piecesTold === 0 && socket !== null) toldOf.get(socket)?.came(socket, piecesTold);
    if (pieces <= piecesFree || bytes >= pieces * pieceBytesMin) return onBody.call(this, piece);
    if (socket?.destroyed === false && socket.writable) toldOf.get(socket)?.cut(socket, 'pieces');
  };
  const letGo = (): void => {
    of = null;
  };
  counting.set(parser, letGo);
  return letGo;
}

export function createConnectionLimits(told: Told) {
  /** Of a connection: requests that came before the one in front of them was answered. */
  const behind = new WeakMap<Socket, number>();

  return {
    /** A connection that has just been opened: its parser is reached by names of Node's own, which the tests hold. */
    bound(socket: Socket): void {
      const { parser } = socket as unknown as { readonly parser: Parser | null };
      if (parser === null) return;
      toldOf.set(socket, told);
      socket.once('close', countPieces(parser));
    },

    /** Whether the request may be served; not that of a connection which was cut. */
    admits({ socket }: IncomingMessage, res: ServerResponse): boolean {
      if (socket.destroyed) return false;
      // Nothing stands before it: Node has given it the connection.
      if (res.socket !== null) return true;
      const waiting = (behind.get(socket) ?? 0) + 1;
      if (waiting >= unansweredMax) {
        told.cut(socket, 'unanswered');
        return false;
      }
      behind.set(socket, waiting);
      res.once('close', () => behind.set(socket, (behind.get(socket) ?? 1) - 1));
      return true;
    },
  };
}
