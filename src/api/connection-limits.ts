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

type Cut = (socket: Socket, excess: Excess) => void;

/** Of each connection that is bounded. */
const cuts = new WeakMap<Socket, Cut>();
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
    if (pieces <= piecesFree || bytes >= pieces * pieceBytesMin) return onBody.call(this, piece);
    const { socket } = this;
    if (socket?.destroyed === false && socket.writable) cuts.get(socket)?.(socket, 'pieces');
  };
  const letGo = (): void => {
    of = null;
  };
  counting.set(parser, letGo);
  return letGo;
}

/** @param cut is told once of a connection that is over its limits; nothing of what else it has brought is served */
export function createConnectionLimits(cut: Cut) {
  /** Of a connection: requests that came before the one in front of them was answered. */
  const behind = new WeakMap<Socket, number>();

  return {
    /** A connection that has just been opened: its parser is reached by names of Node's own, which the tests hold. */
    bound(socket: Socket): void {
      const { parser } = socket as unknown as { readonly parser: Parser | null };
      if (parser === null) return;
      cuts.set(socket, cut);
      socket.once('close', countPieces(parser));
    },

    /** Whether the request may be served; not that of a connection which was cut. */
    admits({ socket }: IncomingMessage, res: ServerResponse): boolean {
      if (socket.destroyed) return false;
      // Nothing stands before it: Node has given it the connection.
      if (res.socket !== null) return true;
      const waiting = (behind.get(socket) ?? 0) + 1;
      if (waiting >= unansweredMax) {
        cut(socket, 'unanswered');
        return false;
      }
      behind.set(socket, waiting);
      res.once('close', () => behind.set(socket, (behind.get(socket) ?? 1) - 1));
      return true;
    },
  };
}
