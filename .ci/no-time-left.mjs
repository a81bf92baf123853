// What a test file fails with that CI had no time for: the one word by which note-worker.mjs, journal.mjs and results.mjs know it.

export const noTimeLeft = 'CI_NO_TIME_LEFT: this has run without engines, and is not repeated on them';

/** Of a failure's message, or of none. */
export const isNoTimeLeft = (message) => (message ?? '').includes(noTimeLeft);
