// What has just been done, said once at the edge of the page and to whoever listens.

import { signal } from '@preact/signals';

import { visible } from '../format.ts';
import type { ApiProblem } from '../problem.ts';
import { shownProblem } from '../problem.ts';

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly problem: ApiProblem | null;
}

const toasts = signal<readonly Toast[]>([]);
/** Long enough to read a sentence; what went wrong stays until it is closed. */
const shownMs = 6000;
const toastsMax = 4;
let lastId = 0;

export function say(text: string): void {
  const id = add(text, null);
  setTimeout(() => close(id), shownMs);
}

export function sayProblem(failure: unknown): void {
  const problem = shownProblem(failure);
  if (problem !== null) add(problem.message, problem);
}

function add(text: string, problem: ApiProblem | null): number {
  lastId += 1;
  toasts.value = [...toasts.value, { id: lastId, text, problem }].slice(-toastsMax);
  return lastId;
}

function close(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, text, problem }) => (
        <div key={id} class={problem === null ? 'toast' : 'toast problem'}>
          <div>
            {visible(text)}
            {problem?.requestId !== null && problem?.requestId !== undefined && (
              <div class="note">
                Request <code>{problem.requestId}</code>
              </div>
            )}
          </div>
          <button type="button" class="quiet" aria-label="Close this message" onClick={() => close(id)}>
            ✕
          </button>
        </div>
      ))}
    </div>
  );
}
