// One open stream of server-sent events: what is written to it, how far its reader is, how it ends.

import type { ServerResponse } from 'node:http';

import type { Lagging, StreamBacklog } from './stream-backlog.ts';

/** `data` becomes JSON, `json` is. */
export type StreamMessage = { readonly event?: string; readonly id?: string } & (
  | { readonly data: unknown }
  | { readonly json: string }
);

/** A message as its bytes, for many streams: made once, held once, however many readers it waits for. */
export function messageBytes(message: StreamMessage): Uint8Array {
  return Buffer.from(messageText(message));
}

/** What a feed sends through. */
export interface EventStream {
  /** False when the stream has ended: nothing more will arrive. Without regard to `hasRoom` a reader that lags too far behind is dropped. */
  send(message: StreamMessage | Uint8Array): boolean;
  /** Whether the reader keeps up: a feed that can wait sends only then. */
  readonly hasRoom: boolean;
  /** Resolves when there is room; false when the stream has ended. */
  room(): Promise<boolean>;
  end(): void;
}

/** `client`: it went away; `slow`: it didn't read; `expired`: its key or token ended; `feed`: what it is fed from can't go on. */
export const endReasons = ['client', 'slow', 'expired', 'stopping', 'feed'] as const;
export type EndReason = (typeof endReasons)[number];

/** As the process sees it. */
export interface OpenStream extends EventStream, Lagging {
  end(reason?: EndReason): void;
  /** A comment, so that both sides notice a connection that is gone; drops a reader that reads nothing. */
  beat(): void;
  endReason(): EndReason;
}

/** Time for what is written to be read before the connection is cut. */
const flushWithinMs = 5000;

export function createEventStream(
  res: ServerResponse,
  limits: { readonly bufferedBytesMax: number; readonly stalledHeartbeatsMax: number },
  backlog: StreamBacklog,
): OpenStream {
  let reason: EndReason = 'client';
  let stalledHeartbeats = 0;
  let waitingBytes = 0;
  const nowWaits = (bytes: number) => {
    backlog.add(bytes - waitingBytes);
    waitingBytes = bytes;
  };
  res.on('drain', () => {
    stalledHeartbeats = 0;
    nowWaits(0);
  });
  res.on('close', () => nowWaits(0));
  const isOpen = () => !res.destroyed && !res.writableEnded;

  const drop = (): void => {
    reason = 'slow';
    res.destroy();
    nowWaits(0);
  };
  const write = (text: string | Uint8Array): boolean => {
    if (!isOpen()) return false;
    if (res.writableLength > limits.bufferedBytesMax) {
      drop();
      return false;
    }
    backlog.makeRoom(text.length);
    if (!isOpen()) return false;
    if (!res.write(text)) nowWaits(res.writableLength);
    return true;
  };

  return {
    send: (message) => write(message instanceof Uint8Array ? message : messageText(message)),
    get hasRoom() {
      return isOpen() && !res.writableNeedDrain;
    },
    room() {
      if (!isOpen() || !res.writableNeedDrain) return Promise.resolve(isOpen());
      return new Promise((resolve) => {
        const settle = () => {
          res.off('drain', settle);
          res.off('close', settle);
          resolve(isOpen());
        };
        res.on('drain', settle);
        res.on('close', settle);
      });
    },
    beat() {
      if (!isOpen()) return;
      stalledHeartbeats = res.writableNeedDrain ? stalledHeartbeats + 1 : 0;
      if (stalledHeartbeats > limits.stalledHeartbeatsMax) drop();
      else res.write(':\n\n');
    },
    end(why = 'feed') {
      if (!isOpen()) return;
      reason = why;
      res.end();
      const timer = setTimeout(() => res.destroy(), flushWithinMs);
      timer.unref();
      res.once('close', () => clearTimeout(timer));
    },
    endReason: () => reason,
    get waitingBytes() {
      return waitingBytes;
    },
    drop,
  };
}

/** JSON holds no line break, and ids and names here neither. */
function messageText(message: StreamMessage): string {
  const { event, id } = message;
  const json = 'json' in message ? message.json : JSON.stringify(message.data);
  return `${event === undefined ? '' : `event: ${event}\n`}${id === undefined ? '' : `id: ${id}\n`}data: ${json}\n\n`;
}
