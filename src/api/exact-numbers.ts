// What JSON lets through and a number can't hold: 9007199254740993 would become ...992, 1e400 nothing at all. It is refused rather than changed in silence.

import { badField } from '../domain/errors.ts';

/**
 * Where a number begins that may not be exact: it has an exponent, or 16 characters and more; with 15 digits every decimal is. A text that looks like one
 * costs the second look, nothing else. No part of it can be matched in two ways: one pass.
 */
const suspicious = /[:,[]\s*-?(?:[\d.]{16}|\d+(?:\.\d+)?[eE])/;

/** @param text valid JSON, an object. @throws DomainError BAD_REQUEST naming the first number that JSON.parse changes */
export function checkNumbers(text: string): void {
  if (!suspicious.test(text)) return;
  const path = pathOfChanged(text);
  if (path !== null) throw badField(path, "can't be kept exactly as a number: send it as a string");
}

/**
 * Whether a number as it is written and the one that it is read as are the same decimal; 0 and -0 are. Nearly all are told without being read: 256 KiB of
 * `1e300` are 43,000 of them.
 */
export function isExact(source: string): boolean {
  const { digits, power } = shapeOf(source);
  // Far enough from the least and the greatest number 15 digits are exact.
  if (digits <= digitsKept && power >= -powerMax && power + digits <= powerMax) return true;
  const value = Number(source);
  if (!Number.isFinite(value)) return false;
  if (digits <= digitsKept && Math.abs(value) > leastNormal) return true;
  const read = String(value);
  return read === source || decimalOf(read) === decimalOf(source);
}

const digitsKept = 15;
const powerMax = 307;
/** Below it numbers have fewer digits. */
const leastNormal = 2.3e-308;

/** How many digits a number has from its first one that isn't 0 on, and the power of ten of the last of them, as it is written. */
function shapeOf(source: string): { digits: number; power: number } {
  let digits = 0;
  let power = 0;
  let isFraction = false;
  for (let at = 0; at < source.length; at++) {
    const character = source.charCodeAt(at);
    if (isDigit(character)) {
      if (digits > 0 || character !== zero) digits++;
      if (isFraction) power--;
    } else if (character === point) {
      isFraction = true;
    } else if (character !== minus) {
      return { digits, power: power + Number(source.slice(at + 1)) };
    }
  }
  return { digits, power };
}

/** Its digits without the zeros around them, and the power of ten of the last. */
function decimalOf(text: string): string {
  const exponentAt = text.search(/[eE]/);
  const mantissaEnd = exponentAt < 0 ? text.length : exponentAt;
  const begin = text.charCodeAt(0) === minus ? 1 : 0;
  const pointAt = text.indexOf('.');
  const hasPoint = pointAt >= 0;
  const digits = hasPoint
    ? text.slice(begin, pointAt) + text.slice(pointAt + 1, mantissaEnd)
    : text.slice(begin, mantissaEnd);
  let first = 0;
  let end = digits.length;
  while (first < end && digits.charCodeAt(first) === zero) first++;
  while (end > first && digits.charCodeAt(end - 1) === zero) end--;
  if (first === end) return '0';
  const exponent = exponentAt < 0 ? 0 : Number(text.slice(exponentAt + 1));
  // An exponent that isn't exact itself is of a number that is read as 0 or infinite.
  const power = exponent - (hasPoint ? mantissaEnd - pointAt - 1 : 0) + digits.length - end;
  return `${begin === 1 ? '-' : ''}${digits.slice(first, end)}e${power}`;
}

/** An object or array that the look is in: its place in the text of the name, or how many values came before. */
type Container =
  | { readonly kind: 'object'; nameAt: number; nameEnd: number }
  | { readonly kind: 'array'; index: number };

/** Deeper ones are refused by the schemas: nothing of them is kept. */
const depthMax = 40;

/** Of the first number that isn't exact, dotted; null when all are. One pass: 1 ms for 256 KiB of text, 10 to 30 ms of the dearest numbers. */
function pathOfChanged(text: string): string | null {
  const containers: Container[] = [];
  let string = { at: 0, end: 0 };
  for (let at = 0; at < text.length; at++) {
    const inside = containers.at(-1);
    const character = text.charCodeAt(at);
    if (character === quote) {
      string = { at, end: endOfString(text, at) };
      at = string.end - 1;
    } else if (character === colon && inside?.kind === 'object') {
      [inside.nameAt, inside.nameEnd] = [string.at, string.end];
    } else if (character === comma && inside?.kind === 'array') {
      inside.index++;
    } else if (character === openBrace || character === openBracket) {
      if (containers.length === depthMax) return null;
      containers.push(
        character === openBrace ? { kind: 'object', nameAt: 0, nameEnd: 0 } : { kind: 'array', index: 0 },
      );
    } else if (character === closeBrace || character === closeBracket) {
      containers.pop();
    } else if (character === minus || isDigit(character)) {
      const end = endOfNumber(text, at);
      if (!isExact(text.slice(at, end))) return containers.map((container) => stepInto(container, text)).join('.');
      at = end - 1;
    }
  }
  return null;
}

/** Of a name so much is told. */
const nameCharactersMax = 200;

function stepInto(container: Container, text: string): string {
  if (container.kind === 'array') return String(container.index);
  return String(JSON.parse(text.slice(container.nameAt, container.nameEnd))).slice(0, nameCharactersMax);
}

const [quote, backslash, colon, comma, minus, point, zero] = [0x22, 0x5c, 0x3a, 0x2c, 0x2d, 0x2e, 0x30];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === quote) return at + 1;
    if (character === backslash) at++;
  }
  return text.length;
}

function endOfNumber(text: string, start: number): number {
  let end = start + 1;
  while (end < text.length && isOfNumber(text.charCodeAt(end))) end++;
  return end;
}

function isDigit(character: number): boolean {
  return character >= 0x30 && character <= 0x39;
}

/** A digit, `.`, `e`, `E`, `+` or `-`. */
function isOfNumber(character: number): boolean {
  return (
    isDigit(character) ||
    character === point ||
    (character | 0x20) === 0x65 ||
    character === 0x2b ||
    character === minus
  );
}
