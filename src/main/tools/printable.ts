// Text of strangers on a terminal: nothing in it may move the cursor, change a colour or hide what stands beside it.

import { styleText } from 'node:util';

/** On one line. Control characters, and those that turn the direction of writing, are shown as escapes. */
export function printable(text: string): string {
  return text.replace(hidden, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The same, its line breaks kept and each line indented. */
export function printableLines(text: string, indent: string): string {
  return text
    .split(/\r?\n/)
    .map((line) => `${indent}${printable(line)}`)
    .join('\n');
}

const hidden = /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

const colours = {
  DELIVERED: 'green',
  FAILED: 'red',
  CANCELLED: 'gray',
  RETRYING: 'yellow',
  SCHEDULED: 'blue',
} as const;

/** In its colour, where stdout is a terminal that has colours (NO_COLOR, FORCE_COLOR). */
export function coloured(status: string, text: string = status): string {
  const colour = Object.hasOwn(colours, status) ? colours[status as keyof typeof colours] : 'cyan';
  return styleText(colour, text, { stream: process.stdout });
}

export function dim(text: string): string {
  return styleText('dim', text, { stream: process.stdout });
}
