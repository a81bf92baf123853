// <herald-inbox>: a bell with its inbox, for any page. What it is set up by is attributes, properties and events; docs/inbox.md has them all.

import { claimsOf, endOf } from '../typescript/src/held-token.ts';
import { createHerald } from '../typescript/src/index.ts';
import type { HeraldInboxElement, HeraldInboxTexts, HeraldTokenEventDetail } from './declaration.d.ts';
import type { Inbox, InboxState } from './inbox.ts';
import { openInbox } from './inbox.ts';
import type { InboxItem } from './items.ts';
import type { View } from './view.ts';
import { createView } from './view.ts';

/** Before a token ends the service is asked how things are, for which the client gets another one. */
const renewBeforeMs = 45_000;
/** After whoever gives tokens had none. */
const tokenRetryMs = 5000;
/** After the service has refused it for good: a key may have been changed since. */
const endedRetryMs = 60_000;
/** The longest that a timer holds. */
const timerMaxMs = 2 ** 31 - 1;
/** A page that isn't seen for so long gives its connection back: over HTTP/1.1 all pages of a browser share six to one host. */
const restAfterMs = 5000;
/** What comes in one go is announced once. */
const announceAfterMs = 500;

class HeraldInbox extends HTMLElement implements HeraldInboxElement {
  static readonly observedAttributes = ['server', 'user', 'token', 'open'];

  readonly #view: View;
  #texts: Partial<HeraldInboxTexts> = {};
  #getToken: HeraldInboxElement['getToken'] = null;
  #state: InboxState | null = null;
  #inbox: Inbox | null = null;
  /** Who asked for a token while there was none, and which one was the last. */
  #waiting: { readonly last: string | null; give(token: string | Promise<string>): void }[] = [];
  #renewal: ReturnType<typeof setTimeout> | undefined;
  /** Of what is tried again later. */
  #retry: ReturnType<typeof setTimeout> | undefined;
  #resting: ReturnType<typeof setTimeout> | undefined;
  /** Counts what is open one after another. */
  #run = 0;
  #arrived = 0;
  #frame = 0;

  constructor() {
    super();
    this.#view = createView(this.attachShadow({ mode: 'open' }), {
      toggle: (isOpen) => this.toggleAttribute('open', isOpen),
      markRead: (ids) => void this.#inbox?.markRead(ids),
      more: () => void this.#inbox?.more(),
      follow: (item) => {
        if (!item.read) void this.#inbox?.markRead([item.id]);
        return this.#tell('herald-follow', item, { cancelable: true });
      },
    });
  }

  get server(): string | null {
    return this.getAttribute('server');
  }
  set server(value: string | null) {
    this.#set('server', value);
  }
  get user(): string | null {
    return this.getAttribute('user');
  }
  set user(value: string | null) {
    this.#set('user', value);
  }
  get token(): string | null {
    return this.getAttribute('token');
  }
  set token(value: string | null) {
    this.#set('token', value);
  }
  get open(): boolean {
    return this.hasAttribute('open');
  }
  set open(value: boolean) {
    this.toggleAttribute('open', value);
  }
  get getToken(): HeraldInboxElement['getToken'] {
    return this.#getToken;
  }
  set getToken(value: HeraldInboxElement['getToken']) {
    this.#getToken = value;
    if (!this.isConnected) return;
    if (this.#inbox === null || this.#state?.status === 'ended') this.#restart();
    else if (value !== null)
      for (const { last, give } of this.#waiting.splice(0)) give(Promise.resolve(last).then(value));
  }
  get texts(): Partial<HeraldInboxTexts> {
    return this.#texts;
  }
  set texts(value: Partial<HeraldInboxTexts>) {
    this.#texts = value;
    this.#view.say(value);
  }
  get items(): readonly InboxItem[] {
    return this.#state?.items ?? [];
  }
  get unreadCount(): number {
    return this.#state?.unreadCount ?? 0;
  }

  async markRead(ids?: readonly string[]): Promise<void> {
    await this.#inbox?.markRead(ids ?? null);
  }

  connectedCallback(): void {
    // Set before the element was known, they stand in the way of what it understands.
    for (const name of ['server', 'user', 'token', 'open', 'texts', 'getToken'] as const) this.#takeUp(name);
    this.#view.show(this.#state);
    document.addEventListener('pointerdown', this.#closeOutside);
    document.addEventListener('visibilitychange', this.#restUnseen);
    this.#start();
  }

  disconnectedCallback(): void {
    document.removeEventListener('pointerdown', this.#closeOutside);
    document.removeEventListener('visibilitychange', this.#restUnseen);
    clearTimeout(this.#resting);
    this.#stop();
  }

  attributeChangedCallback(name: string, before: string | null, after: string | null): void {
    if (name === 'open') return this.#view.open(after !== null);
    if (!this.isConnected || before === after) return;
    if (name !== 'token') return this.#restart();
    if (after !== null) for (const { give } of this.#waiting.splice(0)) give(after);
    // Another person's, or the first one: else the inbox goes on, and takes it when it needs one.
    if (after === null || before === null || subjectOf(before) !== subjectOf(after) || this.#state?.status === 'ended')
      this.#restart();
    else this.#renewInTime(after);
  }

  #restart(): void {
    this.#stop();
    const before = this.unreadCount;
    this.#state = null;
    this.#view.show(null);
    if (before !== 0) this.#tell('herald-unread', { count: 0 });
    this.#start();
  }

  #start(): void {
    const run = ++this.#run;
    this.#open(run).catch(() => this.#tryLater(run, tokenRetryMs));
  }

  /** Whose it is may only be known by the token. */
  async #open(run: number): Promise<void> {
    const token = await this.#tokenAfter(null);
    const userId = this.user ?? subjectOf(token);
    if (run !== this.#run) return;
    if (userId === null) throw new Error('What was given says of nobody whose inbox it opens.');
    let given: string | null = token;
    const herald = createHerald({
      url: this.server ?? new URL('.', import.meta.url).href,
      token: async (last) => {
        const next = last === null && given !== null ? given : await this.#tokenAfter(last);
        given = null;
        this.#renewInTime(next);
        return next;
      },
    });
    this.#inbox = openInbox({
      herald,
      userId,
      onChange: (state) => {
        if (state.status === 'ended') this.#tryLater(run, endedRetryMs);
        this.#change(state);
      },
      onItem: (item) => {
        this.#tell('herald-notification', item);
        this.#announceSoon();
      },
    });
    if (document.hidden) this.#inbox.rest();
  }

  #stop(): void {
    this.#inbox?.close();
    this.#inbox = null;
    this.#run++;
    clearTimeout(this.#renewal);
    clearTimeout(this.#retry);
    this.#waiting = [];
  }

  #tryLater(run: number, ms: number): void {
    clearTimeout(this.#retry);
    if (run === this.#run) this.#retry = setTimeout(() => this.#restart(), ms);
  }

  /** Of the attribute, while that is another than the last one; else of who gives them; else of whoever sets the attribute. */
  #tokenAfter(last: string | null): Promise<string> {
    const { token } = this;
    if (token !== null && token !== last) return Promise.resolve(token);
    if (this.#getToken !== null) return Promise.resolve(last).then(this.#getToken);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ last, give: resolve });
      const respondWith = (given: string | Promise<string>) => void Promise.resolve(given).then(resolve, reject);
      this.#tell('herald-token', { last, respondWith } satisfies HeraldTokenEventDetail);
    });
  }

  #renewInTime(token: string): void {
    clearTimeout(this.#renewal);
    const inMs = endOf(token) - renewBeforeMs - Date.now();
    if (inMs > 0 && inMs < timerMaxMs) this.#renewal = setTimeout(() => void this.#inbox?.refresh(), inMs);
  }

  /** A burst is shown a frame at a time. */
  #change(state: InboxState): void {
    const before = this.unreadCount;
    this.#state = state;
    if (state.unreadCount !== before) this.#tell('herald-unread', { count: state.unreadCount });
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#view.show(this.#state);
    });
  }

  #announceSoon(): void {
    if (this.#arrived++ > 0) return;
    setTimeout(() => {
      this.#view.announce(this.#arrived);
      this.#arrived = 0;
    }, announceAfterMs);
  }

  readonly #closeOutside = (event: Event): void => {
    if (this.open && !event.composedPath().includes(this)) this.open = false;
  };

  readonly #restUnseen = (): void => {
    clearTimeout(this.#resting);
    if (document.hidden) this.#resting = setTimeout(() => this.#inbox?.rest(), restAfterMs);
    else this.#inbox?.wake();
  };

  /** @returns false when a listener has called preventDefault() */
  #tell(name: string, detail: unknown, more: CustomEventInit = {}): boolean {
    return this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true, ...more }));
  }

  #set(name: string, value: string | null): void {
    if (value === null || value === undefined) this.removeAttribute(name);
    else this.setAttribute(name, value);
  }

  #takeUp(name: 'server' | 'user' | 'token' | 'open' | 'texts' | 'getToken'): void {
    if (!Object.hasOwn(this, name)) return;
    const value = this[name];
    Reflect.deleteProperty(this, name);
    Object.assign(this, { [name]: value });
  }
}

function subjectOf(token: string): string | null {
  const { sub } = claimsOf(token);
  return typeof sub === 'string' ? sub : null;
}

if (customElements.get('herald-inbox') === undefined) customElements.define('herald-inbox', HeraldInbox);
