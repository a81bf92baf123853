// An output, `{{ name | filter: argument }}`, compiled to functions that read, filter and print.

import { ParseError, type Token, Tokenizer, TypeGuards } from 'liquidjs';
import { applyFilter, lastDefaultOf, readFirst } from './asked-names.ts';
import { type FilterDefinition, filters } from './filters.ts';
import { useStep } from './budget.ts';
import { type Frame, isSetByTag, readPath } from './frame.ts';
import { templateLimits } from './limits.ts';
import { addMissing } from './missing-names.ts';
import { escapedHtml, Html, type Key, propertyOf, toText } from './values.ts';

type Evaluate = (frame: Frame) => unknown;

/** Text to be put in place of the output, escaped where the frame is HTML. */
export type Write = (frame: Frame) => string;

type OutputToken = Token & { readonly contentRange: readonly [number, number] };

/** @throws LiquidError at what doesn't parse */
export function compileOutput(token: OutputToken): Write {
  const { input, contentRange } = token;
  const [begin, end] = contentRange;
  const tokenizer = new Tokenizer(input, undefined, undefined, [begin, end]);
  const value = tokenizer.readFilteredValue();
  if (tokenizer.p < end || input[end - 1] === '|')
    throw unexpected(input[end - 1] === '|' ? '|' : input.slice(tokenizer.p, end), token);
  const [operand, extra] = value.initial.postfix;
  if (operand === undefined || extra !== undefined) throw unexpected((extra ?? token).getText(), extra ?? token);
  return printed(filtered(compileOperand(operand), value.filters));
}

/** What parsing leaves unchecked: names, numbers of arguments, and how many filters there are. */
export function checkFilters(uses: readonly FilterUse[], at: Token): void {
  if (uses.length > templateLimits.filtersMax)
    throw new ParseError(new Error(`must have at most ${templateLimits.filtersMax} filters`), at);
  for (const use of uses) {
    const definition = filters.get(use.name);
    if (definition === undefined)
      throw new ParseError(
        new Error(`there is no filter ${use.name}; filters are ${[...filters.keys()].join(', ')}`),
        at,
      );
    const wrong = wrongArguments(use, definition);
    if (wrong !== null) throw new ParseError(new Error(wrong), at);
  }
}

interface FilterUse {
  readonly name: string;
  readonly args: readonly (Token | readonly [string?, Token?])[];
}

function wrongArguments({ name, args }: FilterUse, { argsMin, argsMax, named = [] }: FilterDefinition): string | null {
  const names = args.filter(isNamed).map(([argument]) => argument ?? '');
  const unknown = names.find((argument) => !named.includes(argument));
  if (unknown !== undefined) return `the filter ${name} takes no argument named ${unknown}`;
  const count = args.length - names.length;
  if (count >= argsMin && count <= argsMax) return null;
  return `the filter ${name} takes ${argsMin === argsMax ? argsMin : `${argsMin} to ${argsMax}`} arguments`;
}

function isNamed(arg: Token | readonly [string?, Token?]): arg is readonly [string?, Token?] {
  return Array.isArray(arg);
}

function printed(evaluate: Evaluate): Write {
  return (frame) => {
    useStep(frame.memory);
    const value = evaluate(frame);
    const text = toText(value, frame.memory);
    return frame.html && !(value instanceof Html) ? escapedHtml(text, frame.memory) : text;
  };
}

function filtered(operand: Evaluate, uses: readonly (FilterUse & Token)[]): Evaluate {
  const [first] = uses;
  if (first === undefined) return operand;
  checkFilters(uses, first);
  const steps = uses.map(({ name, args }) => ({ definition: filters.get(name), args: args.map(compileArgument) }));
  const lastDefault = lastDefaultOf(uses);
  return (frame) => {
    let value = readFirst(frame, lastDefault, () => operand(frame));
    for (const [i, { definition, args }] of steps.entries()) {
      useStep(frame.memory);
      const before = value;
      const apply = () =>
        definition?.apply(
          frame,
          before,
          args.map((arg) => arg(frame)),
        );
      value = applyFilter(frame, { i, lastDefault, value }, apply);
    }
    return value;
  };
}

function compileArgument(arg: Token | readonly [string?, Token?]): Evaluate {
  if (!isNamed(arg)) return compileOperand(arg);
  const [name, token] = arg;
  const value = token === undefined ? () => true : compileOperand(token);
  return (frame) => [name, value(frame)];
}

/** A name, a path, a literal, a number or quoted text; no operators and no ranges, which belong to tags. */
function compileOperand(token: Token): Evaluate {
  if (TypeGuards.isQuotedToken(token)) {
    const { content } = token;
    return () => content;
  }
  if (TypeGuards.isLiteralToken(token) || TypeGuards.isNumberToken(token)) {
    const exact = token.getText();
    const constant = constantOf(token.content);
    return (frame) => (Object.hasOwn(frame.data, exact) ? frame.data[exact] : constant);
  }
  if (!TypeGuards.isPropertyAccessToken(token)) throw unexpected(token.getText(), token);
  checkSpelling(token.getText(), token);
  return compilePath(token);
}

/** `nil` and `null` are nothing, and `empty` and `blank` print as nothing. */
function constantOf(content: unknown): unknown {
  return typeof content === 'object' ? null : content;
}

function compilePath({
  variable,
  props,
}: {
  readonly variable?: Token | undefined;
  readonly props: readonly Token[];
}): Evaluate {
  const keys = props.map(compileKey);
  if (variable === undefined || TypeGuards.isLiteralToken(variable)) {
    const names = keys.map((key) => (typeof key === 'function' ? null : key));
    const all = variable === undefined ? names : [variable.getText(), ...names];
    if (all.every((name) => name !== null)) return namedPath(all);
  }
  const [root, ...rest] = variable === undefined ? keys : [compileOperand(variable), ...keys];
  return (frame) => {
    let value = typeof root === 'function' ? rootValue(frame, root) : readPath(frame, [root ?? ''], String(root));
    const isKnown = value !== undefined;
    const names: Key[] = [];
    for (const key of rest) {
      // Below what isn't there the names are asked for by a preview alone.
      if (value === undefined && frame.missing === null) return undefined;
      useStep(frame.memory);
      const name = typeof key === 'function' ? asKey(key(frame), frame) : key;
      names.push(name);
      value = propertyOf(value, name, frame.memory);
    }
    if (
      value === undefined &&
      isKnown &&
      frame.missing !== null &&
      typeof root === 'string' &&
      !isSetByTag(frame, root)
    )
      addMissing(frame.missing, [root, ...names].join('.'));
    return value;

    function rootValue(frame: Frame, evaluate: Evaluate): unknown {
      const computed = evaluate(frame);
      if (variable !== undefined) return computed;
      const name = asKey(computed, frame);
      return readPath(frame, [name], String(name));
    }
  };
}

function namedPath(keys: readonly Key[]): Evaluate {
  const exact = keys.join('.');
  return (frame) => readPath(frame, keys, exact);
}

/** A constant key, or a function for one that is itself a path: `users[index]`. */
function compileKey(token: Token): Key | Evaluate {
  if (TypeGuards.isWordToken(token) || TypeGuards.isQuotedToken(token) || TypeGuards.isNumberToken(token))
    return token.content;
  return compileOperand(token);
}

/** A text is hashed to be looked up. */
function asKey(value: unknown, { memory }: Frame): Key {
  if (typeof value === 'number') return value;
  const key = toText(value, memory);
  memory.use(key.length);
  return key;
}

/** liquidjs passes over a dot at the end of a path, and over whatever stands in brackets behind the key. */
function checkSpelling(text: string, token: Token): void {
  if (!pathPattern.test(text)) throw unexpected(text, token);
}

/** No white space in it (some is beyond ASCII): what two neighbours of a pattern can both match is tried in every division. */
const word = String.raw`(?:(?!\s)[\w?\u0080-\uffff-])+`;
const key = String.raw`\[\s*(?:"(?:[^"\\]|\\[^])*"|'(?:[^'\\]|\\[^])*'|${word}(?:\.${word}|\[[^\[\]\s]*\])*)\s*\]`;
const pathPattern = new RegExp(`^(?:${word}|${key})(?:\\.${word}|${key})*$`);

function unexpected(text: string, at: Token): ParseError {
  return new ParseError(
    new Error(text.trim() === '' ? 'a name is missing' : `unexpected ${JSON.stringify(text.slice(0, 40))}`),
    at,
  );
}
