// How numbers, times and durations are written: in the viewer's language and zone, with their units.

const short = new Intl.NumberFormat(undefined, { notation: 'compact', maximumSignificantDigits: 3 });
const whole = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });

export function count(value: number): string {
  return whole.format(value);
}

/** For axes: 12K, 1.5M. */
export function shortCount(value: number): string {
  return short.format(value);
}

/** 420 ms, 1.53 s, 2 min 5 s, 3 h 20 min, 2 d 4 h. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${Number((ms / 1000).toPrecision(3))} s`;
  const seconds = Math.round(ms / 1000);
  const [days, hours, minutes] = [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3600) % 24,
    Math.floor(seconds / 60) % 60,
  ];
  if (days > 0) return joined(`${days} d`, hours, 'h');
  if (hours > 0) return joined(`${hours} h`, minutes, 'min');
  return joined(`${minutes} min`, seconds % 60, 's');
}

function joined(large: string, small: number, unit: string): string {
  return small === 0 ? large : `${large} ${small} ${unit}`;
}

export function bytes(value: number): string {
  if (value < 1024) return `${value} B`;
  if (value < 1024 * 1024) return `${Number((value / 1024).toPrecision(3))} KiB`;
  return `${Number((value / 1024 / 1024).toPrecision(3))} MiB`;
}

/** In the viewer's zone, to the second. */
export function localTime(iso: string): string {
  const at = new Date(iso);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${clockTime(iso)}`;
}

function clockTime(iso: string): string {
  const at = new Date(iso);
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** Of today the time alone. */
export function listTime(iso: string, now: number): string {
  const isToday = new Date(iso).toDateString() === new Date(now).toDateString();
  return isToday ? clockTime(iso) : localTime(iso).slice(5, 16);
}

export function utcTime(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 23)} UTC`;
}

/** `in 3 min`, `2 h ago`. */
export function relativeTime(iso: string, now: number): string {
  const ms = Date.parse(iso) - now;
  const size = duration(Math.round(Math.abs(ms) / 1000) * 1000)
    .split(' ')
    .slice(0, 2)
    .join(' ');
  if (Math.abs(ms) < 1500) return 'now';
  return ms > 0 ? `in ${size}` : `${size} ago`;
}

/** `IN_APP` as people write it. */
export function channelName(channel: string): string {
  return channelNames[channel] ?? channel;
}

const channelNames: Readonly<Record<string, string>> = {
  EMAIL: 'Email',
  SMS: 'SMS',
  WEBHOOK: 'Webhook',
  IN_APP: 'In-app',
};

/** `DELIVERED` as people write it. */
export function sentenceCase(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1).toLowerCase();
}

/** What a line can show of a text: control characters and those that turn or hide what stands beside them are written out. */
export function visible(text: string): string {
  return text.replaceAll(hidden, (c) => `\\u{${(c.codePointAt(0) ?? 0).toString(16)}}`);
}

/** Whom it is for: of an erased recipient nothing is left. */
export function recipientName(recipient: string): string {
  return recipient === '' ? 'Erased recipient' : visible(recipient);
}

/** The same for JSON and for texts of TypeScript, which mean what they meant: by their escapes. */
export function visibleJson(json: string): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return json.replaceAll(hidden, (c) => c.split('').map(escaped).join(''));
}

/**
 * All but line breaks and tabs; the joiners of emoji and of Indic and Arabic scripts (U+200C, U+200D) stay. Soft hyphens, the separators of Unicode and the
 * tags (U+E0000 to U+E007F), which spell the flags of parts of countries and else a text that nobody sees, are hidden ones, too.
 */
const hidden =
  /(?![\t\n\r])[\p{Cc}\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu;

function two(value: number): string {
  return String(value).padStart(2, '0');
}
