// Waits between attempts: what the service asks for, else longer each time, and by chance, so that many clients don't come back at once.

/** The first wait is half of it to all of it, each further one up to twice as long. */
const firstMs = 250;
const longestMs = 8000;

/** @param retryAfterMs the least; up to half as long again, for whoever was refused in one moment was told the same. @param failures so far, from 1 on */
export function waitMs(failures: number, retryAfterMs: number | null): number {
  const backoffMs = Math.min(longestMs, firstMs * 2 ** Math.min(failures - 1, 10));
  return Math.max((retryAfterMs ?? 0) * (1 + Math.random() / 2), backoffMs * (0.5 + Math.random() / 2));
}

/** Of the header Retry-After, in seconds or a date (RFC 9110 10.2.3); null: there is none. */
export function retryAfterMsOf(headers: Headers): number | null {
  const text = headers.get('retry-after');
  if (text === null) return null;
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}

/** Rejects with the signal's reason. */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    if (signal?.aborted === true) stop();
    else signal?.addEventListener('abort', stop, { once: true });
  });
}
