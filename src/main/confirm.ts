// Asks the person at a terminal whether they mean it, where a forgotten option would take more away than was meant.

import { createInterface } from 'node:readline/promises';

interface Terminal {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly output: NodeJS.WritableStream;
}

/** Scripts, which nobody can answer for, have said what they mean. @returns whether `word` was typed */
export async function isMeant(question: string, word: string, { input, output }: Terminal): Promise<boolean> {
  if (input.isTTY !== true) return true;
  const lines = createInterface({ input, output });
  // The end of the input, which answers nothing.
  const ended = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
  try {
    return (await Promise.race([lines.question(question), ended])).trim() === word;
  } finally {
    lines.close();
  }
}
