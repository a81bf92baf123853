// One look into an inbox for all who listen to it: read once and rendered once for those who have come equally far, told to each while it has room.

import type { TenantId } from '../domain/ids.ts';
import type { ReadModelReader } from '../ports/read-model-store.ts';
import type { ThreadTurns } from '../ports/thread-turns.ts';
import type { InboxMarks } from '../projections/inbox/queries.ts';
import { inboxSince } from '../projections/inbox/queries.ts';
import type { EventStream } from './event-stream.ts';
import { marksText, newsMessages, tellNews } from './inbox-news.ts';

export interface InboxAddress {
  readonly tenantId: TenantId;
  readonly recipient: string;
}

export interface Listener {
  readonly stream: EventStream;
  marks: InboxMarks;
  /** Its reader is behind: it is fed again once that has caught up. */
  isWaiting: boolean;
}

/** Items read from the read model at a time. */
const itemsPerLook = 100;

interface Dependencies {
  readonly reader: ReadModelReader;
  readonly turns: ThreadTurns;
}

/**
 * Answers whether there may be more at once for somebody.
 * @param isBehind is told of each whose reader has no room; it is left out until it has
 */
export async function feedListeners(
  { reader, turns }: Dependencies,
  { tenantId, recipient }: InboxAddress,
  listeners: Iterable<Listener>,
  isBehind: (listener: Listener) => void,
): Promise<boolean> {
  let isMore = false;
  const groups = Map.groupBy(listeners, ({ marks }) => marksText(marks));
  for (const group of groups.values()) {
    const ready = group.filter(({ stream, isWaiting }) => stream.hasRoom && !isWaiting);
    for (const listener of group) if (!ready.includes(listener)) isBehind(listener);
    const [first] = ready;
    if (first === undefined) continue;
    const { marks: before } = first;
    const news = await inboxSince(reader, tenantId, recipient, before, itemsPerLook);
    const messages = await newsMessages(turns, before, news);
    for (const listener of ready) {
      if (turns.isOver()) await turns.next();
      const told = turns.piece(() => tellNews(listener.stream, before, messages));
      listener.marks = told.marks;
      if (!told.isAll) isBehind(listener);
      else isMore ||= news.more;
    }
  }
  return isMore;
}
