// Times of a filter between the address (ISO 8601, UTC) and a field of the browser's (the viewer's zone, to the minute).

export function inputTime(iso: string | null): string {
  const at = iso === null ? Number.NaN : Date.parse(iso);
  if (Number.isNaN(at)) return '';
  return new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** '' for what is no time. */
export function isoOfInput(text: string): string {
  const at = Date.parse(text);
  return Number.isNaN(at) ? '' : new Date(at).toISOString();
}
