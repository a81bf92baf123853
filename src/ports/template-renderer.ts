// Templates: a Liquid subset. Outputs that cost little are rendered in place; tags, and what costs more, go to a worker that can be killed.

import type { ErrorDetail } from '../domain/errors.ts';

export interface TemplateSource {
  /** null where the channel has none. */
  readonly subject: string | null;
  readonly body: string;
}

export interface RenderedTemplate {
  readonly subject: string | null;
  readonly body: string;
  readonly bodyFormat: 'text' | 'html';
}

export interface PreviewedTemplate extends RenderedTemplate {
  /**
   * Names that were asked for and that `data` doesn't have: dotted paths in the order of their first use, the subject's before the body's. What is only
   * tested (`if`, `unless`, `case`) isn't asked for, nor what has a `default`.
   */
  readonly missing: readonly string[];
}

export interface RenderOptions {
  readonly isEmail: boolean;
  /** Who the template belongs to: those who wait for the worker take turns by it. */
  readonly owner: string;
}

export interface RenderStrictly extends RenderOptions {
  /** Names that a preview would call missing are refused; absent: they are empty. */
  readonly isStrict?: boolean;
}

export interface TemplateRenderer {
  /** What doesn't parse, each with line and column in its message and `subject` or `body` as its path; empty when all is well. @throws DomainError SERVICE_UNAVAILABLE when there is no room to look */
  check(source: TemplateSource, options: Pick<RenderOptions, 'owner'>): Promise<readonly ErrorDetail[]>;
  /**
   * Subject and body with `data` filled in. HTML rules apply to the body of `isEmail` sources that hold HTML tags.
   * Resolves at once, without a promise, for sources of text and outputs alone that cost little.
   * @throws DomainError BAD_REQUEST naming subject or body (with line and column) when it doesn't parse, breaks a limit of size, time or memory; naming
   * all that is missing where that is refused
   */
  render(
    source: TemplateSource,
    data: Readonly<Record<string, unknown>>,
    options: RenderStrictly,
  ): RenderedTemplate | Promise<RenderedTemplate>;
  /** The same, and which names were missing. @throws as `render` does */
  preview(
    source: TemplateSource,
    data: Readonly<Record<string, unknown>>,
    options: RenderOptions,
  ): Promise<PreviewedTemplate>;
  close(): Promise<void>;
}
