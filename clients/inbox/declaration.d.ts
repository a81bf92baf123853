// The element <herald-inbox>, for those who use it from TypeScript: docs/inbox.md says what each is for.

export interface HeraldInboxItem {
  readonly id: string;
  readonly notificationId: string;
  readonly tenantId: string;
  readonly recipientId: string;
  readonly title: string | null;
  readonly body: string;
  readonly read: boolean;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
  readonly readAt: string | null;
  readonly data: Readonly<Record<string, unknown>>;
}

/** What it says, in the page's language; `{n}` is a number. */
export interface HeraldInboxTexts {
  readonly title: string;
  readonly unread: string;
  readonly markRead: string;
  readonly markAllRead: string;
  readonly more: string;
  readonly empty: string;
  readonly connecting: string;
  readonly cut: string;
  readonly close: string;
  readonly arrived: string;
}

export interface HeraldInboxElement extends HTMLElement {
  /** Where Herald is reached; where the script is from, unless it is said. */
  server: string | null;
  /** The recipient; whom the token is for, unless it is said. */
  user: string | null;
  token: string | null;
  /** Whether the list is shown. */
  open: boolean;
  /** Asked for a token when there is none, and for another when one is nearly over or refused. */
  getToken: ((last: string | null) => string | Promise<string>) | null;
  texts: Partial<HeraldInboxTexts>;
  readonly items: readonly HeraldInboxItem[];
  readonly unreadCount: number;
  /** Those, or all of them up to now. */
  markRead(ids?: readonly string[]): Promise<void>;
}

/** `respondWith` takes a token, or a promise of one; setting the attribute `token` does as well. */
export interface HeraldTokenEventDetail {
  readonly last: string | null;
  respondWith(token: string | Promise<string>): void;
}

export interface HeraldInboxEventMap {
  /** A token is needed. */
  'herald-token': CustomEvent<HeraldTokenEventDetail>;
  /** An item has come. */
  'herald-notification': CustomEvent<HeraldInboxItem>;
  /** The number of unread items has changed. */
  'herald-unread': CustomEvent<{ readonly count: number }>;
  /** An item is followed; preventDefault() keeps its link from being opened. */
  'herald-follow': CustomEvent<HeraldInboxItem>;
}

declare global {
  interface HTMLElementTagNameMap {
    'herald-inbox': HeraldInboxElement;
  }
}
