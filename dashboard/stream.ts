// Every change of a status as it happens: one stream for the whole dashboard, resumed where it was cut, told to the pages once a frame.

import { openStream } from './api.ts';
import type { Place, Told } from './place.ts';
import { numbersOf, placeOf } from './place.ts';
import type { ApiProblem } from './problem.ts';
import { refusalIn } from './problem.ts';
import {
  noteFollowed,
  noteFollowing,
  noteMissed,
  noteReached,
  noteRefused,
  noteTold,
  noteUnreachable,
} from './reachable.ts';
import { createEventReader } from './sse.ts';
import type { Change } from './wire.ts';

type Listener = (changes: readonly Told[]) => void;

/** The service says something every 15 s: two of them missed, and the connection is dead. */
const silenceMaxMs = 40_000;
const pauseMinMs = 500;
const pauseMaxMs = 8_000;
const restAfterMs = 5_000;
/** A page in the background is told so often: it is shown no frames. */
const hiddenEveryMs = 500;
/** Changes between two frames: what is more has been missed, and pages read anew. 20,000 of some 300 bytes: 6 MB. */
const heldMax = 20_000;

const listeners = new Set<Listener>();
let held: Told[] = [];
let isTelling = false;

/** Returns how to end it. */
export function onChanges(listener: Listener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** Runs until the page ends; rests while nobody sees it. */
export async function followChanges(): Promise<never> {
  let lastEventId: string | null = null;
  let pauseMs = pauseMinMs;
  noteFollowing();
  for (;;) {
    await untilSeen();
    const cut = new AbortController();
    const unseen = cutUnseen(cut);
    let refused: ApiProblem | null = null;
    try {
      const response = await openStream(lastEventId, silenceMaxMs, cut.signal);
      noteReached();
      pauseMs = pauseMinMs;
      for await (const { id, data } of eventsOf(response, cut)) {
        const place = id === null || lastEventId === null ? null : placeOf(numbersOf(lastEventId), numbersOf(id));
        if (lastEventId === null) noteFollowed();
        if (id !== null) lastEventId = id;
        take(JSON.parse(data), place);
      }
    } catch (failure) {
      // Whatever it was: the pause is the answer, and the line at the top says it.
      refused = refusalIn(failure);
    }
    cut.abort();
    if (unseen.end()) continue;
    if (refused === null) noteUnreachable();
    else noteRefused(refused);
    const leastMs = (refused?.retryAfterSeconds ?? 0) * 1000;
    await new Promise((resolve) => setTimeout(resolve, Math.max(pauseMs, leastMs)));
    pauseMs = Math.min(pauseMs * 2, pauseMaxMs);
  }
}

/** Over HTTP/1.1 all pages of a browser share six connections to a host: one that isn't seen gives its own back. */
function cutUnseen(cut: AbortController) {
  let timer = 0;
  let isCut = false;
  const look = () => {
    clearTimeout(timer);
    if (!document.hidden) return;
    timer = window.setTimeout(() => {
      isCut = true;
      cut.abort();
    }, restAfterMs);
  };
  document.addEventListener('visibilitychange', look);
  look();
  return {
    /** @returns whether it was cut */
    end(): boolean {
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', look);
      return isCut;
    },
  };
}

/** Pages that load unseen read what they show all the same, after a moment. */
function untilSeen(): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden) return;
      document.removeEventListener('visibilitychange', look);
      resolve();
    };
    document.addEventListener('visibilitychange', look);
    look();
  });
}

async function* eventsOf({ body }: Response, cut: AbortController) {
  if (body === null) return;
  const read = createEventReader();
  let silence = 0;
  const text = body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      silence = window.setTimeout(() => cut.abort(), silenceMaxMs);
      const { done, value } = await text.read();
      clearTimeout(silence);
      if (done) return;
      yield* read(value);
    }
  } finally {
    clearTimeout(silence);
  }
}

function take(message: Change | { readonly event: 'connected'; readonly gap?: true }, place: Place | null): void {
  if ('event' in message) {
    noteTold();
    if (message.gap === true) noteMissed();
    return;
  }
  if (held.length >= heldMax) {
    held = [];
    noteMissed();
  }
  held.push({ ...message, place });
  if (isTelling) return;
  isTelling = true;
  if (document.hidden) setTimeout(tell, hiddenEveryMs);
  else requestAnimationFrame(tell);
}

function tell(): void {
  isTelling = false;
  const changes = held;
  held = [];
  for (const listener of listeners) listener(changes);
}
