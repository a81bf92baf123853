// Data as somebody types it: an object of JSON, and what is wrong with it meanwhile. Pure.

/** An object of JSON; null: there is none. */
export function dataOf(text: string): {
  readonly data: Readonly<Record<string, unknown>> | null;
  readonly problem: string | null;
} {
  if (text.trim() === '') return { data: null, problem: null };
  try {
    const data: unknown = JSON.parse(text);
    if (typeof data === 'object' && data !== null && !Array.isArray(data))
      return { data: data as Readonly<Record<string, unknown>>, problem: null };
    return { data: null, problem: 'It should be an object: {"name": "Ada"}' };
  } catch (failure) {
    return { data: null, problem: failure instanceof Error ? failure.message : String(failure) };
  }
}
