// A page of a list as JSON text: as many items as its bytes allow, each rendered once.

import type { ThreadTurns } from '../ports/thread-turns.ts';
import { pageBytesMax } from '../projections/page-bytes.ts';

export interface PageText<T> {
  /** JSON, each of one item. */
  readonly texts: readonly string[];
  /** The last item on the page where it ends before the last that was given; else null. */
  readonly cutAfter: T | null;
}

/** What stands around the items: names, totals, a cursor. */
const envelopeBytesMax = 4096;

/** One item at least. Whoever else is on the thread has its turn between items. */
export async function pageText<T>(
  turns: ThreadTurns,
  items: readonly T[],
  toWire: (item: T) => unknown,
): Promise<PageText<T>> {
  const texts: string[] = [];
  let bytes = envelopeBytesMax;
  let last: T | null = null;
  for (const item of items) {
    if (turns.isOver()) await turns.next();
    const text = turns.piece(() => JSON.stringify(toWire(item)));
    // A comma stands before the next.
    bytes += Buffer.byteLength(text) + 1;
    if (last !== null && bytes > pageBytesMax) return { texts, cutAfter: last };
    texts.push(text);
    last = item;
  }
  return { texts, cutAfter: null };
}

/** `{"<name>":[...], ...rest}` */
export function listText(name: string, { texts }: PageText<unknown>, rest: Readonly<Record<string, unknown>>): string {
  const members = Object.entries(rest).map(([key, value]) => `,${JSON.stringify(key)}:${JSON.stringify(value)}`);
  return `{${JSON.stringify(name)}:${arrayText(texts)}${members.join('')}}`;
}

export function arrayText(texts: readonly string[]): string {
  return `[${texts.join(',')}]`;
}
