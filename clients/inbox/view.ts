// The bell and its list in a shadow root.

import type { HeraldInboxTexts } from './declaration.d.ts';
import { bellPath, crossPath, element, icon } from './elements.ts';
import type { InboxState } from './inbox.ts';
import type { InboxItem } from './items.ts';
import type { RowActions } from './row.ts';
import { rowFor } from './row.ts';
import { css } from './styles.ts';

export interface ViewActions extends RowActions {
  toggle(isOpen: boolean): void;
  more(): void;
}

export type View = ReturnType<typeof createView>;

const defaultTexts: HeraldInboxTexts = {
  title: 'Notifications',
  unread: '{n} unread',
  markRead: 'Mark as read',
  markAllRead: 'Mark all as read',
  more: 'Older ones',
  empty: 'Nothing here yet.',
  connecting: 'Loading …',
  cut: 'The connection was lost. Trying again …',
  close: 'Close',
  arrived: '{n} new',
};

const badgeMax = 99;
/** Between the list and the edge of the window. */
const marginPx = 12;

export function createView(root: ShadowRoot, actions: ViewActions) {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  root.adoptedStyleSheets = [sheet];
  const badge = element('span', { class: 'badge', part: 'badge', 'aria-hidden': 'true' });
  const bell = element(
    'button',
    { class: 'bell', part: 'bell', type: 'button', 'aria-controls': 'panel' },
    icon(bellPath),
    badge,
  );
  const heading = element('h2', { id: 'heading', part: 'heading' });
  const allRead = element('button', { class: 'text', part: 'mark-all-read', type: 'button' });
  const close = element('button', { class: 'close', part: 'close', type: 'button' }, icon(crossPath));
  const note = element('p', { class: 'state', part: 'state', role: 'status' });
  const list = element('ul', { class: 'list', part: 'list', tabindex: '0', 'aria-labelledby': 'heading' });
  const more = element('button', { class: 'text more', part: 'more', type: 'button' });
  const head = element('div', { class: 'head', part: 'head' }, heading, allRead, close);
  const panel = element(
    'div',
    { class: 'panel', id: 'panel', part: 'panel', role: 'dialog', 'aria-labelledby': 'heading' },
    head,
    note,
    list,
    more,
  );
  const spoken = element('p', { class: 'seen-by-ear', role: 'status' });
  root.append(bell, panel, spoken);

  const rows = new Map<string, { readonly row: HTMLElement; readonly item: InboxItem }>();
  let texts = defaultTexts;
  let state: InboxState | null = null;
  let isOpen = false;

  bell.addEventListener('click', () => actions.toggle(!isOpen));
  close.addEventListener('click', () => actions.toggle(false));
  allRead.addEventListener('click', () => actions.markRead(null));
  more.addEventListener('click', () => actions.more());
  root.addEventListener('keydown', (event) => {
    if (!isOpen || !(event instanceof KeyboardEvent) || event.key !== 'Escape') return;
    event.stopPropagation();
    actions.toggle(false);
  });

  const rowOf = (item: InboxItem): HTMLElement => {
    const known = rows.get(item.id);
    if (known !== undefined && known.item.read === item.read) return known.row;
    const row = rowFor(item, texts, actions);
    const hadFocus = known !== undefined && known.row.contains(root.activeElement);
    known?.row.replaceWith(row);
    rows.set(item.id, { row, item });
    if (hadFocus) list.focus();
    return row;
  };

  /** In the order of the items; those that stay aren't touched, so that neither focus nor scrolling is lost. */
  const showItems = (items: readonly InboxItem[]): void => {
    const kept = new Set(items.map(({ id }) => id));
    for (const [id, { row }] of rows) {
      if (kept.has(id)) continue;
      row.remove();
      rows.delete(id);
    }
    let at = list.firstElementChild;
    for (const item of items) {
      const row = rowOf(item);
      if (row === at || (at !== null && !at.isConnected)) at = row.nextElementSibling;
      else list.insertBefore(row, at);
    }
  };

  const show = (): void => {
    const { items = [], unreadCount = 0, status = 'connecting', hasMore = false, problem = null } = state ?? {};
    const unread = filled(texts.unread, unreadCount);
    bell.setAttribute('aria-label', unreadCount > 0 ? `${texts.title}, ${unread}` : texts.title);
    bell.setAttribute('aria-expanded', String(isOpen));
    badge.hidden = unreadCount === 0;
    badge.textContent = unreadCount > badgeMax ? `${badgeMax}+` : String(unreadCount);
    panel.hidden = !isOpen;
    if (!isOpen) return;
    heading.textContent = texts.title;
    allRead.textContent = texts.markAllRead;
    allRead.hidden = unreadCount === 0;
    close.setAttribute('aria-label', texts.close);
    more.textContent = texts.more;
    more.hidden = !hasMore;
    const listed = items.length === 0 ? texts.empty : '';
    const sayings = { connecting: texts.connecting, cut: texts.cut, ended: '', live: listed, polled: listed };
    note.textContent = problem ?? sayings[status];
    note.hidden = note.textContent === '';
    list.hidden = items.length === 0;
    showItems(items);
  };

  /** Wherever the bell stands. */
  const intoView = (): void => {
    if (!isOpen) return;
    panel.style.setProperty('--_shift', '0');
    const { left, right } = panel.getBoundingClientRect();
    const tooFarRight = right + marginPx - document.documentElement.clientWidth;
    const shift = left < marginPx ? marginPx - left : -Math.max(0, tooFarRight);
    panel.style.setProperty('--_shift', `${shift}px`);
  };

  return {
    show(next: InboxState | null): void {
      state = next;
      show();
    },
    /** Rows that are shown are made anew. */
    say(given: Partial<HeraldInboxTexts>): void {
      texts = { ...defaultTexts, ...given };
      for (const { row } of rows.values()) row.remove();
      rows.clear();
      show();
    },
    open(next: boolean): void {
      if (isOpen === next) return;
      const hadFocus = panel.contains(root.activeElement);
      isOpen = next;
      show();
      if (isOpen) addEventListener('resize', intoView);
      else removeEventListener('resize', intoView);
      intoView();
      if (isOpen) (list.hidden ? close : list).focus();
      else if (hadFocus) bell.focus();
    },
    /** To those who listen: so many have come. */
    announce(count: number): void {
      spoken.textContent = `${texts.title}: ${filled(texts.arrived, count)}`;
    },
  };
}

function filled(text: string, n: number): string {
  return text.replace('{n}', String(n));
}
