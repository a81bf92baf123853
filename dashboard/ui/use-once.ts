// What is asked for again because no answer came is done once: it goes under the key that it went under before.

import { useRef } from 'preact/hooks';

/**
 * A key is kept until what went under it is accepted: of a refusal the API keeps nothing.
 * @param asked another one goes under a key of its own
 */
export function useOnce(asked: unknown) {
  const open = useRef<{ readonly asked: unknown; readonly key: string } | null>(null);
  return async <T>(send: (idempotencyKey: string) => Promise<T>): Promise<T> => {
    const kept = open.current?.asked === asked ? open.current : null;
    const key = kept?.key ?? newKey();
    open.current = { asked, key };
    const answer = await send(key);
    open.current = null;
    return answer;
  };
}

/** As `crypto.randomUUID` would, which browsers have for https and the own machine alone. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
