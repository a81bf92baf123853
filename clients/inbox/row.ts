// One notification in the list: what it says is shown as text alone, and its link leads to http and https alone.

import type { HeraldInboxTexts } from './declaration.d.ts';
import { element } from './elements.ts';
import type { InboxItem } from './items.ts';

export interface RowActions {
  /** @param ids null: all of them */
  markRead(ids: readonly string[] | null): void;
  /** Whether its link is to be opened. */
  follow(item: InboxItem): boolean;
}

/** Of a text that is shown: enough to read, too little to hold a page up. The list has its beginning alone. */
const shownMax = 2000;

export function rowFor(item: InboxItem, texts: HeraldInboxTexts, actions: RowActions): HTMLElement {
  const { id, title, body, read, createdAt } = item;
  const at = new Date(createdAt);
  const time = element('time', {
    class: 'time',
    part: 'time',
    datetime: createdAt,
    title: `${at.toLocaleString()} (${createdAt})`,
  });
  time.textContent = at.toLocaleString(undefined, { dateStyle: 'short', timeStyle: 'short' });
  const content = element('p', { class: 'body', part: 'body', dir: 'auto' });
  content.textContent = shortened(body);
  const row = element('li', { class: read ? 'item' : 'item unread', part: read ? 'item' : 'item unread' });
  row.append(headingOf(item, title ?? '', actions), time, content);
  if (read) return row;
  const mark = element('button', { class: 'text', part: 'mark-read', type: 'button' });
  mark.textContent = texts.markRead;
  if (title !== null) mark.setAttribute('aria-label', `${texts.markRead}: ${shortened(title)}`);
  mark.addEventListener('click', () => actions.markRead([id]));
  row.append(mark);
  return row;
}

/** `data.url` makes it a link: an http or https address, and no other kind. */
function headingOf(item: InboxItem, title: string, actions: RowActions): HTMLElement {
  const heading = element('h3', { class: 'title', part: 'title', dir: 'auto' });
  const url = linkOf(item.data['url']);
  if (url === null) {
    heading.textContent = shortened(title);
    return heading;
  }
  const link = element('a', { href: url, part: 'link', rel: 'noopener noreferrer', target: '_blank' });
  link.textContent = shortened(title === '' ? url : title);
  link.addEventListener('click', (event) => {
    if (!actions.follow(item)) event.preventDefault();
  });
  heading.append(link);
  return heading;
}

function linkOf(value: unknown): string | null {
  if (typeof value !== 'string' || !URL.canParse(value)) return null;
  const { protocol, href } = new URL(value);
  return protocol === 'https:' || protocol === 'http:' ? href : null;
}

function shortened(text: string): string {
  return text.length > shownMax ? `${text.slice(0, shownMax)}…` : text;
}
