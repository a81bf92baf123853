// The frame around every page: navigation, what has to be said on any of them, and the page itself.

import { useSignalEffect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

import { visible } from './format.ts';
import { pageNamed, pages } from './pages/index.ts';
import { noAnswer } from './problem.ts';
import { isReachable, refusal } from './reachable.ts';
import { linkTo, route } from './router.ts';
import { person, sessionState, signOut } from './session.ts';
import { SignInPage } from './sign-in.tsx';
import { followChanges } from './stream.ts';
import { TenantGate } from './tenant-gate.tsx';
import { theme, themes } from './theme.ts';
import { Dialog } from './ui/dialog.tsx';
import { Lazy } from './ui/lazy.tsx';
import { Toasts } from './ui/toasts.tsx';

export function App() {
  const state = sessionState.value;
  if (state === 'starting') return null;
  if (state === 'out') return <SignInPage />;
  return (
    <>
      <Shell />
      {state === 'ended' && (
        <Dialog title="Your sign-in has ended" onClose={signOut}>
          <p>The page stays as it is and goes on once you are signed in; for another tenant it begins anew.</p>
          <SignInPage isDialog />
        </Dialog>
      )}
    </>
  );
}

function Shell() {
  useEffect(() => void followChanges(), []);
  return (
    <div class="shell">
      <a
        class="skip"
        href="#content"
        onClick={(event) => {
          // The fragment is the page's own address.
          event.preventDefault();
          document.querySelector<HTMLElement>('#content')?.focus();
        }}
      >
        Skip to content
      </a>
      <header class="side">
        <a class="brand" href="#/">
          <img
            src={document.querySelector<HTMLLinkElement>('link[rel=icon]')?.href ?? ''}
            alt=""
            width="24"
            height="24"
          />
          Herald
        </a>
        <Navigation />
        <Settings />
      </header>
      <main id="content" tabIndex={-1}>
        <Silence />
        <TenantGate>
          <Page />
        </TenantGate>
      </main>
      <Toasts />
    </div>
  );
}

/** Why what is shown may be old. Who has no tenant yet is told so in the page's place. */
function Silence() {
  const reason = isReachable.value ? refusal.value : noAnswer();
  if (reason === null || reason.status === 403) return null;
  return (
    <p class="offline" role="status">
      {reason.message} What is shown may be old; it is tried again.
    </p>
  );
}

function Navigation() {
  const shown = pageNamed(route.value.page);
  const bar = useRef<HTMLElement>(null);
  // On a phone the bar is longer than the screen.
  useEffect(() => {
    const { current: nav } = bar;
    const link = nav?.querySelector<HTMLElement>('[aria-current]');
    if (nav != null && link != null) nav.scrollLeft = link.offsetLeft - (nav.clientWidth - link.offsetWidth) / 2;
  }, [shown]);
  return (
    <nav aria-label="Pages" ref={bar}>
      <ul>
        {pages.map((page) => (
          <li key={page.name}>
            <a href={linkTo(page.name)} aria-current={page === shown ? 'page' : undefined}>
              {page.title}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function Settings() {
  return (
    <div class="side-foot">
      <label>
        <span class="hidden">Colours</span>
        <select
          value={theme.value}
          onChange={({ currentTarget }) => {
            theme.value = themes.find((name) => name === currentTarget.value) ?? 'system';
          }}
        >
          <option value="system">System</option>
          <option value="light">Light</option>
          <option value="dark">Dark</option>
        </select>
      </label>
      {person.value !== null && (
        <span class="person" title={visible(person.value)}>
          {visible(person.value)}
        </span>
      )}
      <button type="button" class="quiet" onClick={signOut}>
        Sign out
      </button>
    </div>
  );
}

function Page() {
  const { page: name } = route.value;
  const page = pageNamed(name);
  const isFirst = useRef(true);
  const shown = useRef(name);
  useEffect(() => {
    document.title = `${page?.title ?? 'Not found'} · Herald`;
  }, [page]);
  useSignalEffect(() => {
    const { page: next, id } = route.value;
    const place = `${next}/${id ?? ''}`;
    // Whoever follows a link goes on reading at its page; whoever has just come begins at the top.
    if (!isFirst.current && shown.current !== place) {
      document.querySelector<HTMLElement>('#content')?.focus();
      scrollTo(0, 0);
    }
    isFirst.current = false;
    shown.current = place;
  });
  if (page === undefined)
    return (
      <>
        <h1>Not found</h1>
        <p>
          There is no such page. <a href="#/">To the overview</a>
        </p>
      </>
    );
  return <Lazy key={name} load={page.load} />;
}
