// Values of templates: how they are read (own properties alone), printed and escaped.

import { Drop } from 'liquidjs';

import type { Budget } from './budget.ts';
import { templateLimits } from './limits.ts';

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

/** As Liquid prints: nil as nothing, an array as its items one after another; an object as JSON. Text itself costs nothing. @throws LimitError */
export function toText(value: unknown, budget: Budget): string {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return textOfItems(value, budget);
  if (value instanceof Html) return textOfHtml(value, budget);
  return value instanceof Drop ? '' : toJson(value, budget);
}

function toJson(value: unknown, budget: Budget): string {
  const text = JSON.stringify(value) ?? '';
  // Known only now: one value of 64 KiB is the most that goes over a budget.
  budget.use(text.length * templateLimits.jsonCharacters);
  return text;
}

/** @throws LimitError */
export function escapedHtml(text: string, budget: Budget): string {
  budget.use(text.length);
  return escapeHtml(text);
}

function textOfItems(items: readonly unknown[], budget: Budget): string {
  budget.use(items.length * templateLimits.itemCharacters);
  const text = items.map((item) => toText(item, budget)).join('');
  budget.use(text.length);
  return text;
}

function textOfHtml(html: Html, budget: Budget): string {
  budget.use(html.plain.length);
  return html.text;
}

function escapeHtml(text: string): string {
  return /[&<>"']/.test(text) ? text.replace(/[&<>"']/g, (character) => entities[character] ?? character) : text;
}

/** An own property, or `size`, `first` and `last` where Liquid knows them; never anything of a prototype. @throws LimitError */
export function propertyOf(value: unknown, key: Key, budget: Budget): unknown {
  if (value === null || value === undefined) return undefined;
  if (value instanceof Html) return propertyOf(textOfHtml(value, budget), key, budget);
  if (value instanceof Drop) return loopProperty(value, key);
  const place = Array.isArray(value) && typeof key === 'number' && key < 0 ? value.length + key : key;
  if (Object.hasOwn(value, place)) return (value as Record<Key, unknown>)[place];
  if (key === 'size') return sizeOf(value, budget);
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

function sizeOf(value: unknown, budget: Budget): number | undefined {
  if (typeof value === 'string' || Array.isArray(value)) return value.length;
  if (typeof value !== 'object' || value === null) return undefined;
  const { length } = Object.keys(value);
  budget.use(length * templateLimits.itemCharacters);
  return length;
}

const loopProperties = new Set<Key>(['index', 'index0', 'rindex', 'rindex0', 'first', 'last', 'length']);

/** Of `forloop`. */
function loopProperty(loop: Drop, key: Key): unknown {
  if (!loopProperties.has(key)) return undefined;
  const property: unknown = loop[key];
  return typeof property === 'function' ? (property.call(loop) as unknown) : property;
}
