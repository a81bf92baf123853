// The `date` filter: UTC unless a zone is given, English names, nothing of the process's locale or time zone.

import type { Budget } from './budget.ts';
import { templateLimits } from './limits.ts';
import { toText } from './values.ts';

const defaultFormat = '%A, %B %-e, %Y at %-l:%M %P %z';

/**
 * @param value seconds since 1970 as a number or digits, ISO 8601 or RFC 2822 (UTC where it names no zone), `now`, `today`; anything else comes back as it is
 * @param zone an IANA name, `+02:00`, or minutes west of UTC; absent: UTC
 * @param at what a render knows: UTC ms of `now`, and what it may use up
 * @throws Error for an unknown zone or an oversized format; LimitError
 */
export function formatDate(
  value: unknown,
  format: unknown,
  zone: unknown,
  { now, memory }: { readonly now: number; readonly memory: Budget },
): unknown {
  memory.use(templateLimits.dateCharacters + (typeof value === 'string' ? value.length : 0));
  const timeMs = parseDate(value, now);
  if (timeMs === null) return value;
  const pattern = format === null || format === undefined ? defaultFormat : toText(format, memory);
  if (pattern.length > templateLimits.dateFormatCharactersMax) {
    throw new Error(`a date format must have at most ${templateLimits.dateFormatCharactersMax} characters`);
  }
  return strftime(momentOf(timeMs, offsetMinutes(zone, timeMs, memory)), pattern);
}

const isoPattern = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?) ?(Z|[+-]\d\d:?\d\d)?)?$/i;

function parseDate(value: unknown, nowMs: number): number | null {
  if (typeof value === 'number') return valid(value * 1000);
  if (typeof value !== 'string') return null;
  const text = value.trim();
  if (text === 'now' || text === 'today') return nowMs;
  if (/^\d{1,16}$/.test(text)) return valid(Number(text) * 1000);
  const iso = isoPattern.exec(text);
  if (iso !== null) return valid(Date.parse(`${iso[1]}T${(iso[2] ?? '00:00').replace(',', '.')}${zoneOfIso(iso[3])}`));
  if (text.length > 64 || !/\d/.test(text)) return null;
  const namesZone = /(?:Z|GMT|UTC?|[A-Z][SD]T|[+-]\d{2}:?\d{2})\s*(?:\([^)]*\))?$/i.test(text);
  return valid(Date.parse(namesZone ? text : `${text} UTC`));
}

function zoneOfIso(zone: string | undefined): string {
  if (zone === undefined) return 'Z';
  return zone.length === 5 ? `${zone.slice(0, 3)}:${zone.slice(3)}` : zone.toUpperCase();
}

function valid(timeMs: number): number | null {
  return Math.abs(timeMs) <= 8.64e15 ? timeMs : null;
}

/** Minutes east of UTC. */
function offsetMinutes(zone: unknown, timeMs: number, budget: Budget): number {
  if (zone === undefined || zone === null || zone === '') return 0;
  if (typeof zone === 'number' && Math.abs(zone) <= 24 * 60) return -zone;
  const name = toText(zone, budget);
  if (!offsetFormats.has(name)) budget.use(templateLimits.zoneCharacters);
  try {
    const [, sign, hours, minutes] = /GMT([+-])(\d\d):(\d\d)/.exec(offsetFormat(name).format(timeMs)) ?? [];
    return hours === undefined ? 0 : (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
  } catch {
    throw new Error(`unknown time zone ${JSON.stringify(name.slice(0, 40))}`);
  }
}

/** Making one takes 50 us; there are about 600 zones, a tenant uses few. */
const offsetFormats = new Map<string, Intl.DateTimeFormat>();
const offsetFormatsMax = 100;

function offsetFormat(zone: string): Intl.DateTimeFormat {
  const known = offsetFormats.get(zone);
  if (known !== undefined) return known;
  const made = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
  if (offsetFormats.size >= offsetFormatsMax) offsetFormats.clear();
  offsetFormats.set(zone, made);
  return made;
}

interface Moment {
  /** Its UTC fields are the local ones of the zone. */
  readonly local: Date;
  readonly timeMs: number;
  readonly offset: number;
}

function momentOf(timeMs: number, offset: number): Moment {
  return { local: new Date(timeMs + offset * 60_000), timeMs, offset };
}

const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const months = 'January February March April May June July August September October November December'.split(' ');
const dayMs = 24 * 60 * 60 * 1000;

type Code = readonly [width: number, pad: '0' | ' ', value: (moment: Moment) => string | number];

const hour12 = ({ local }: Moment): number => local.getUTCHours() % 12 || 12;
const dayOfYear = ({ local }: Moment): number =>
  Math.floor((local.getTime() - Date.UTC(local.getUTCFullYear(), 0)) / dayMs) + 1;
const weekOfYear = (moment: Moment, firstDay: number): number =>
  Math.floor((dayOfYear(moment) + 6 - ((moment.local.getUTCDay() - firstDay + 7) % 7)) / 7);
const weekday = ({ local }: Moment): string => days[local.getUTCDay()] ?? '';
const month = ({ local }: Moment): string => months[local.getUTCMonth()] ?? '';

const codes: ReadonlyMap<string, Code> = new Map<string, Code>([
  ['a', [0, ' ', (m) => weekday(m).slice(0, 3)]],
  ['A', [0, ' ', weekday]],
  ['b', [0, ' ', (m) => month(m).slice(0, 3)]],
  ['h', [0, ' ', (m) => month(m).slice(0, 3)]],
  ['B', [0, ' ', month]],
  ['c', [0, ' ', (m) => strftime(m, '%a %b %e %H:%M:%S %Y')]],
  ['C', [2, '0', ({ local }) => Math.floor(local.getUTCFullYear() / 100)]],
  ['d', [2, '0', ({ local }) => local.getUTCDate()]],
  ['D', [0, ' ', (m) => strftime(m, '%m/%d/%y')]],
  ['e', [2, ' ', ({ local }) => local.getUTCDate()]],
  ['F', [0, ' ', (m) => strftime(m, '%Y-%m-%d')]],
  ['H', [2, '0', ({ local }) => local.getUTCHours()]],
  ['I', [2, '0', hour12]],
  ['j', [3, '0', dayOfYear]],
  ['k', [2, ' ', ({ local }) => local.getUTCHours()]],
  ['l', [2, ' ', hour12]],
  ['L', [3, '0', ({ local }) => local.getUTCMilliseconds()]],
  ['m', [2, '0', ({ local }) => local.getUTCMonth() + 1]],
  ['M', [2, '0', ({ local }) => local.getUTCMinutes()]],
  ['n', [0, ' ', () => '\n']],
  ['N', [9, '0', ({ local }) => `${String(local.getUTCMilliseconds()).padStart(3, '0')}000000`]],
  ['p', [0, ' ', ({ local }) => (local.getUTCHours() < 12 ? 'AM' : 'PM')]],
  ['P', [0, ' ', ({ local }) => (local.getUTCHours() < 12 ? 'am' : 'pm')]],
  ['q', [0, ' ', ({ local }) => ordinal(local.getUTCDate())]],
  ['R', [0, ' ', (m) => strftime(m, '%H:%M')]],
  ['s', [0, ' ', ({ timeMs }) => Math.floor(timeMs / 1000)]],
  ['S', [2, '0', ({ local }) => local.getUTCSeconds()]],
  ['t', [0, ' ', () => '\t']],
  ['T', [0, ' ', (m) => strftime(m, '%H:%M:%S')]],
  ['u', [0, '0', ({ local }) => local.getUTCDay() || 7]],
  ['U', [2, '0', (m) => weekOfYear(m, 0)]],
  ['w', [0, '0', ({ local }) => local.getUTCDay()]],
  ['W', [2, '0', (m) => weekOfYear(m, 1)]],
  ['x', [0, ' ', (m) => strftime(m, '%m/%d/%y')]],
  ['X', [0, ' ', (m) => strftime(m, '%H:%M:%S')]],
  ['y', [2, '0', ({ local }) => ((local.getUTCFullYear() % 100) + 100) % 100]],
  ['Y', [4, '0', ({ local }) => local.getUTCFullYear()]],
  ['Z', [0, ' ', ({ offset }) => (offset === 0 ? 'UTC' : offsetText(offset, ''))]],
  ['%', [0, ' ', () => '%']],
]);

function strftime(moment: Moment, pattern: string): string {
  return pattern.replace(
    /%([-_0^#:]*)(\d{0,2})([A-Za-z%])/g,
    (directive, flags: string, width: string, letter: string) => {
      if (letter === 'z') return offsetText(moment.offset, flags.includes(':') ? ':' : '');
      const code = codes.get(letter);
      if (code === undefined) return directive;
      const [defaultWidth, defaultPad, value] = code;
      const text = withCase(String(value(moment)), flags);
      if (flags.includes('-')) return text;
      return text.padStart(Number(width) || defaultWidth, padOf(flags) ?? defaultPad);
    },
  );
}

function padOf(flags: string): string | null {
  if (flags.includes('_')) return ' ';
  return flags.includes('0') ? '0' : null;
}

function withCase(text: string, flags: string): string {
  if (flags.includes('^')) return text.toUpperCase();
  if (!flags.includes('#')) return text;
  return /[a-z]/.test(text) ? text.toUpperCase() : text.toLowerCase();
}

function offsetText(offset: number, separator: string): string {
  const minutes = Math.abs(offset);
  const pair = (count: number): string => String(count).padStart(2, '0');
  return `${offset < 0 ? '-' : '+'}${pair(Math.floor(minutes / 60))}${separator}${pair(minutes % 60)}`;
}

function ordinal(day: number): string {
  if (day >= 11 && day <= 13) return 'th';
  return ['th', 'st', 'nd', 'rd'][day % 10] ?? 'th';
}
