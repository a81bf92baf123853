// The dashboard's entry: who is signed in decides what is shown.

import { render } from 'preact';

import { App } from './app.tsx';
import { startSession } from './session.ts';
import { startTheme } from './theme.ts';

startTheme();
const at = document.querySelector('#app');
if (at !== null) render(<App />, at);
void startSession();
