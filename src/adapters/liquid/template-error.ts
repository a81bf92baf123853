// What is wrong with a template or its rendering, and where.

import { LiquidError } from 'liquidjs';

/** `limit`: it cost too much, and isn't rendered with these data again. `invalid`: everything else that its author or caller must mend. */
export class TemplateError extends Error {
  readonly kind: 'invalid' | 'limit';
  /** From 1; null when it isn't about one place. */
  readonly line: number | null;
  readonly column: number | null;

  constructor(kind: TemplateError['kind'], message: string, at: { line: number | null; column: number | null }) {
    super(message);
    this.name = 'TemplateError';
    this.kind = kind;
    this.line = at.line;
    this.column = at.column;
  }
}

/** Thrown while rendering when the template costs too much. */
export class LimitError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'LimitError';
  }
}

export const nowhere = { line: null, column: null } as const;

/** The sentence for a caller: the message with its place. */
export function describe(error: TemplateError): string {
  return error.line === null ? error.message : `${error.message} (line ${error.line}, column ${error.column})`;
}

/** Any error of parsing or rendering as a TemplateError; `at` is where it happened unless the error says so itself. */
export function toTemplateError(
  thrown: unknown,
  at: { line: number | null; column: number | null } = nowhere,
): TemplateError {
  if (thrown instanceof TemplateError) return thrown;
  if (thrown instanceof RangeError) return new TemplateError('invalid', 'is nested too deeply', at);
  if (!LiquidError.is(thrown)) {
    const kind = thrown instanceof LimitError ? 'limit' : 'invalid';
    return new TemplateError(kind, messageOf(thrown), at);
  }
  const [line = null, column = null] = thrown.token.getPosition();
  if (thrown.originalError !== undefined) return toTemplateError(thrown.originalError, { line, column });
  return new TemplateError('invalid', messageOf(thrown), { line, column });
}

const messageCharactersMax = 200;

/** liquidjs writes the place behind its messages and quotes what it read. */
function messageOf(thrown: unknown): string {
  const message = (thrown instanceof Error ? thrown.message : String(thrown)).replace(/(, line:\d+, col:\d+)+$/, '');
  return message.length > messageCharactersMax ? `${message.slice(0, messageCharactersMax)}...` : message;
}
