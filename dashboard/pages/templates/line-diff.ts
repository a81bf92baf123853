// What two texts have in common line by line, and what not: the longest common subsequence. Pure.

export interface DiffLine {
  readonly kind: 'same' | 'removed' | 'added';
  readonly text: string;
}

/** Of longer texts (a body has up to 200 KiB) a table of all pairs would be large: 2,000 x 2,000 numbers of 2 bytes are 8 MB. */
const linesMax = 2000;

/** null: too long to be compared. */
export function lineDiff(before: string, after: string): DiffLine[] | null {
  const [a, b] = [before.split('\n'), after.split('\n')];
  if (a.length > linesMax || b.length > linesMax) return null;
  const width = b.length + 1;
  /** How many lines a[i..] and b[j..] have in common, at i * width + j. */
  const common = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      const at = i * width + j;
      common[at] =
        a[i] === b[j] ? (common[at + width + 1] ?? 0) + 1 : Math.max(common[at + width] ?? 0, common[at + 1] ?? 0);
    }
  }
  return walk(a, b, common);
}

function walk(a: readonly string[], b: readonly string[], common: Uint16Array): DiffLine[] {
  const width = b.length + 1;
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    const [ours, theirs] = [a[i], b[j]];
    if (ours !== undefined && ours === theirs) {
      lines.push({ kind: 'same', text: ours });
      i += 1;
      j += 1;
    } else if (
      ours !== undefined &&
      (theirs === undefined || (common[(i + 1) * width + j] ?? 0) >= (common[i * width + j + 1] ?? 0))
    ) {
      lines.push({ kind: 'removed', text: ours });
      i += 1;
    } else {
      lines.push({ kind: 'added', text: theirs ?? '' });
      j += 1;
    }
  }
  return lines;
}
