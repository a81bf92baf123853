// Where in a text the API says that something is wrong: `... at line 3, column 5`.

export interface Place {
  /** From 1 on. */
  readonly line: number;
  readonly column: number;
}

/** null: the sentence names no place. */
export function placeIn(sentence: string): Place | null {
  const [, line, column] = /line (\d+),? column (\d+)/i.exec(sentence) ?? [];
  return line === undefined || column === undefined ? null : { line: Number(line), column: Number(column) };
}
