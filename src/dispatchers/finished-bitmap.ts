// What is finished beyond a position, as text: bit i (least significant first) stands for the offset position + 1 + i, in base64url.

/** Of a commit's 4,096 characters of metadata a half, 6 bits each; the rest says who lags. */
export const bitmapBitsMax = 2048 * 6;

const alphabetPattern = /^[A-Za-z0-9_-]{0,4096}$/;

/**
 * @param finished ascending offsets, all above the position. What lies more than 12,288 offsets beyond it (a window is 10,000 events,
 * so only across wide gaps) isn't recorded: after a restart it is done again, which at-least-once allows.
 */
export function encodeFinished(position: number, finished: readonly number[]): string {
  let last = -1;
  for (const offset of finished) if (offset - position <= bitmapBitsMax) last = offset - position - 1;
  if (last < 0) return '';
  const bytes = new Uint8Array((last >>> 3) + 1);
  for (const offset of finished) {
    const bit = offset - position - 1;
    if (bit > last) break;
    bytes[bit >>> 3] = (bytes[bit >>> 3] ?? 0) | (1 << (bit & 7));
  }
  return Buffer.from(bytes.buffer).toString('base64url');
}

/** The ascending offsets that a bitmap names; null when the text isn't one. */
export function decodeFinished(position: number, text: string): number[] | null {
  if (!alphabetPattern.test(text) || text.length % 4 === 1) return null;
  const finished: number[] = [];
  const bytes = Buffer.from(text, 'base64url');
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] ?? 0;
    if (byte === 0) continue;
    for (let bit = 0; bit < 8; bit++) if (byte & (1 << bit)) finished.push(position + 1 + i * 8 + bit);
  }
  return finished;
}
