// A file of lines that grows a piece at a time.

import { appendFileSync, writeFileSync } from 'node:fs';

import type { Part } from './index.ts';
import type { LineFormat } from './text.ts';

/** Written at a time. */
const pieceBytes = 256 * 1024;

/** @throws Error when it can't be written */
export function openTextPart(path: string, { head, line }: LineFormat): Part {
  let held = head;
  writeFileSync(path, '');
  const flush = () => {
    if (held === '') return;
    appendFileSync(path, held);
    held = '';
  };
  return {
    get heldBytes() {
      return held.length;
    },
    footerBytes: 0,
    add(row) {
      held += line(row);
      if (held.length >= pieceBytes) flush();
    },
    flush,
    end: flush,
  };
}
