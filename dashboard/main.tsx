// The dashboard's entry: who is signed in decides what is shown.

import { render } from 'preact';

import { App } from './app.tsx';
import { pageNamed } from './pages/index.ts';
import { route } from './router.ts';
import { sessionState, startSession } from './session.ts';
import { startTheme } from './theme.ts';
import { keepFocus } from './ui/focus.ts';

startTheme();
keepFocus();
// It comes while it is found out who asks for it; where it doesn't, it is said when it is to be shown.
pageNamed(route.value.page)
  ?.load()
  .catch(() => undefined);
const started = startSession();
if (sessionState.value === 'starting') started.finally(show).catch(() => undefined);
else show();

/** In place of the frame that the page came with. */
function show(): void {
  const at = document.querySelector('#app');
  if (at === null) return;
  at.replaceChildren();
  render(<App />, at);
}
