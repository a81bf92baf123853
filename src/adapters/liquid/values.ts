// Values of templates: how they are read (own properties alone), printed and escaped.

import { Drop } from 'liquidjs';

/**
 * What `escape`, `newline_to_br` and `raw` give in an HTML body: the plain text and how it becomes HTML in the end, so that filters behind them
 * see no entities, cut none in two, and can't let anything through. Tags see the HTML.
 */
export class Html extends Drop {
  readonly plain: string;
  readonly mode: 'escaped' | 'breaks' | 'raw';

  constructor(plain: string, mode: Html['mode']) {
    super();
    this.plain = plain;
    this.mode = mode;
  }

  get text(): string {
    if (this.mode === 'raw') return this.plain;
    const escaped = escapeHtml(this.plain);
    return this.mode === 'breaks' ? escaped.replace(/\r?\n/g, '<br />\n') : escaped;
  }

  override valueOf(): string {
    return this.text;
  }
}

/** The key of a path as it stands in brackets or behind a dot. */
export type Key = string | number;

/** As Liquid prints: nil as nothing, an array as its items one after another; an object as JSON. */
export function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return value.map(toText).join('');
  if (value instanceof Html) return value.text;
  return value instanceof Drop ? '' : (JSON.stringify(value) ?? '');
}

export function escapeHtml(text: string): string {
  return /[&<>"']/.test(text) ? text.replace(/[&<>"']/g, (character) => entities[character] ?? character) : text;
}

/** An own property, or `size`, `first` and `last` where Liquid knows them; never anything of a prototype. */
export function propertyOf(value: unknown, key: Key): unknown {
  if (value === null || value === undefined) return undefined;
  if (value instanceof Html) return propertyOf(value.text, key);
  if (value instanceof Drop) return loopProperty(value, key);
  const place = Array.isArray(value) && typeof key === 'number' && key < 0 ? value.length + key : key;
  if (Object.hasOwn(value, place)) return (value as Record<Key, unknown>)[place];
  if (key === 'size') return sizeOf(value);
  if (!Array.isArray(value)) return undefined;
  if (key === 'first') return value[0];
  return key === 'last' ? value.at(-1) : undefined;
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&#34;',
  "'": '&#39;',
};

function sizeOf(value: unknown): number | undefined {
  if (typeof value === 'string' || Array.isArray(value)) return value.length;
  return typeof value === 'object' && value !== null ? Object.keys(value).length : undefined;
}

const loopProperties = new Set<Key>(['index', 'index0', 'rindex', 'rindex0', 'first', 'last', 'length']);

/** Of `forloop`. */
function loopProperty(loop: Drop, key: Key): unknown {
  if (!loopProperties.has(key)) return undefined;
  const property: unknown = loop[key];
  return typeof property === 'function' ? (property.call(loop) as unknown) : property;
}
