// What is kept of a receiver's answer: at most 1 KiB of plain text, with every secret cut out in every form in which it may come back.

import { redactionOf } from '../domain/redaction.ts';

const keptBytesMax = 1_024;
/** How much of an answer is looked at to keep 1 KiB of it. */
const readMax = 8_192;

/**
 * The text as it may be stored and shown: secrets replaced by `[secret]`, control characters and runs of white space by one space.
 * For failures; what succeeds keeps nothing of an answer but an id.
 */
export function kept(text: string, secrets: readonly string[]): string {
  const redaction = redactionOf(secrets);
  const window = redaction.applied(text.slice(0, readMax));
  // The end of the window may hold the beginning of a secret.
  const whole = text.length > readMax ? window.slice(0, Math.max(0, window.length - redaction.longest)) : window;
  return cut(whole.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim());
}

function cut(text: string): string {
  if (Buffer.byteLength(text) <= keptBytesMax) return text;
  // A character cut in two decodes to U+FFFD, which is taken off.
  return Buffer.from(text)
    .toString('utf8', 0, keptBytesMax - ellipsis.length)
    .replace(/\uFFFD$/, '')
    .concat('...');
}

const ellipsis = '...';
