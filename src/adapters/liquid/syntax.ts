// Parsing: liquidjs restricted to the allowed tags and filters, with limits, its outputs compiled by output.ts.

import {
  type Context,
  type Emitter,
  Hash,
  Liquid,
  type Output,
  ParseError,
  Parser,
  type Tag,
  type Template,
  type Token,
  Tokenizer,
  TypeGuards,
  Value,
} from 'liquidjs';
import { narrowAsked } from './asked-names.ts';
import { filters } from './filters.ts';
import { templateLimits } from './limits.ts';
import { checkFilters, compileOutput, type Write } from './output.ts';
import type { TemplateContext } from './tagged.ts';
import { nowhere, TemplateError, toTemplateError } from './template-error.ts';

type TopLevelToken = Parameters<Parser['parseToken']>[0];

export interface OutputPart {
  readonly write: Write;
  readonly token: Token;
}

export type ParsedTemplate =
  /** Text and outputs alone. */
  | { readonly kind: 'flat'; readonly parts: readonly (string | OutputPart)[] }
  | { readonly kind: 'tagged'; readonly templates: Template[] };

const allowedTags: ReadonlySet<string> = new Set(['if', 'unless', 'case', 'for', 'assign', 'comment']);

export interface TemplateSyntax {
  readonly liquid: Liquid;
  /** @throws TemplateError */
  parse(source: string): ParsedTemplate;
}

export function createTemplateSyntax(): TemplateSyntax {
  const liquid = restrictedLiquid();
  return {
    liquid,
    parse(source) {
      if (source.length > templateLimits.sourceCharactersMax) {
        throw new TemplateError(
          'invalid',
          `must have at most ${templateLimits.sourceCharactersMax / 1024} Ki characters`,
          nowhere,
        );
      }
      try {
        const templates = new TemplateParser(liquid).parse(source);
        const parts = templates.map(flatPart);
        return parts.every((part) => part !== null) ? { kind: 'flat', parts } : { kind: 'tagged', templates };
      } catch (thrown) {
        throw toTemplateError(thrown, { line: 1, column: 1 });
      }
    },
  };
}

/** No file system, no partials; filters run with our own checks (see filters.ts). */
function restrictedLiquid(): Liquid {
  const liquid = new Liquid({ templates: {}, ownPropertyOnly: true, strictFilters: true, locale: 'en-US' });
  for (const name of Object.keys(liquid.tags)) if (!allowedTags.has(name)) delete liquid.tags[name];
  for (const name of Object.keys(liquid.filters)) liquid.unregisterFilter(name);
  for (const [name, definition] of filters) {
    liquid.registerFilter(name, function apply(this: { context: Context }, value: unknown, ...args: unknown[]) {
      return definition.apply((this.context as TemplateContext).frame, value, args);
    });
  }
  return liquid;
}

class TextTemplate implements Template {
  readonly token: Token;
  readonly text: string;

  constructor(token: Token, text: string) {
    this.token = token;
    this.text = text;
  }

  render(_context: Context, emitter: Emitter): void {
    emitter.write(this.text);
  }
}

class OutputTemplate implements Template, OutputPart {
  readonly token: Token;
  readonly write: Write;

  constructor(token: Token, write: Write) {
    this.token = token;
    this.write = write;
  }

  render(context: Context, emitter: Emitter): void {
    emitter.write(this.write((context as TemplateContext).frame));
  }
}

function flatPart(template: Template): string | OutputPart | null {
  if (template instanceof TextTemplate) return template.text;
  return template instanceof OutputTemplate ? template : null;
}

/** liquidjs looks for the end of a text character by character, 100 times slower. */
class FastTokenizer extends Tokenizer {
  override readHTMLToken(stopStrings: string[]): ReturnType<Tokenizer['readHTMLToken']> {
    const begin = this.p;
    let at = this.input.indexOf('{', begin);
    while (at >= 0 && this.input[at + 1] !== '{' && this.input[at + 1] !== '%') at = this.input.indexOf('{', at + 1);
    this.p = at < 0 ? this.N : at;
    const end = this.p;
    const token = super.readHTMLToken(stopStrings);
    token.begin = begin;
    token.end = end;
    return token;
  }
}

class TemplateParser extends Parser {
  private readonly restricted: Liquid;
  private depth = 0;

  constructor(liquid: Liquid) {
    super(liquid);
    this.restricted = liquid;
  }

  override parse(source: string): Template[] {
    const { placeholdersMax, placeholderCharactersMax } = templateLimits;
    const tokens = new FastTokenizer(source, this.restricted.options.operators).readTopLevelTokens(
      this.restricted.options,
    );
    const placeholders = tokens.filter(TypeGuards.isDelimitedToken);
    const surplus = placeholders[placeholdersMax];
    if (surplus !== undefined)
      throw new ParseError(new Error(`must have at most ${placeholdersMax} outputs and tags`), surplus);
    const long = placeholders.find(({ begin, end }) => end - begin > placeholderCharactersMax);
    if (long !== undefined)
      throw new ParseError(new Error(`must have at most ${placeholderCharactersMax} characters`), long);
    return this.parseTokens(tokens);
  }

  override parseToken(token: TopLevelToken, remaining: TopLevelToken[]): ReturnType<Parser['parseToken']> {
    // The tags only collect templates and render them in turn, so that ours may stand where liquidjs has its own classes.
    if (TypeGuards.isTagToken(token)) return this.parseTag(token, remaining);
    if (TypeGuards.isOutputToken(token)) return new OutputTemplate(token, compileOutput(token)) as unknown as Output;
    return new TextTemplate(token, token.getContent()) as unknown as Output;
  }

  private parseTag(token: Extract<TopLevelToken, { args: string }>, remaining: TopLevelToken[]): Tag {
    if (!allowedTags.has(token.name)) {
      throw new ParseError(
        new Error(`the tag ${token.name} can't stand here; tags are ${[...allowedTags].join(', ')}`),
        token,
      );
    }
    if (this.depth >= templateLimits.depthMax)
      throw new ParseError(new Error(`must have at most ${templateLimits.depthMax} tags in one another`), token);
    this.depth++;
    const tag = super.parseToken(token, remaining) as Tag;
    this.depth--;
    checkTag(tag, token, token.name);
    return tag;
  }
}

/** What liquidjs's tags pass over: text behind an expression, unknown parameters of a loop, filters' arguments, which names are asked for. */
function checkTag(tag: Tag & Template, token: Token, name: string): void {
  for (const argument of tag.arguments?.() ?? []) {
    if (!(argument instanceof Value)) continue;
    if (!isWellFormed(argument.initial.postfix))
      throw new ParseError(new Error(`unexpected text in the condition or value`), token);
    checkFilters(argument.filters, token);
    narrowAsked(name, argument);
  }
  if (!('hash' in tag) || !(tag.hash instanceof Hash)) return;
  const unknown = Object.keys(tag.hash.hash).find((name) => !['offset', 'limit', 'reversed'].includes(name));
  if (unknown !== undefined)
    throw new ParseError(
      new Error(`unexpected ${JSON.stringify(unknown)}; a loop has offset, limit and reversed`),
      token,
    );
}

/** Whether the operators of an expression in postfix order leave exactly one value. */
function isWellFormed(postfix: readonly Token[]): boolean {
  let values = 0;
  for (const token of postfix) {
    const isOperator = TypeGuards.isOperatorToken(token);
    const operands = isOperator ? (token.operator === 'not' ? 1 : 2) : 0;
    if (values < operands) return false;
    values += 1 - operands;
  }
  return values === 1;
}
