// The template renderer on liquidjs: a subset of Liquid, outputs rendered in place while they cost little, all else in a thread that can be ended.

import { badField, type DomainError, type ErrorDetail } from '../../domain/errors.ts';
import { bodyProblem, isHtmlSource, lackingNames, subjectProblem } from '../../domain/template.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';
import type {
  RenderedTemplate,
  RenderOptions,
  TemplateRenderer,
  TemplateSource,
} from '../../ports/template-renderer.ts';
import { memoryBudget } from './budget.ts';
import { createTemplateCompiler } from './compiler.ts';
import { type Patience, templateLimits } from './limits.ts';
import type { MissingNames } from './missing-names.ts';
import { renderOutputs } from './outputs.ts';
import { createTagRenderer } from './tag-renderer.ts';
import type { TaggedInput } from './tagged.ts';
import { describe, TemplateError } from './template-error.ts';

export interface TemplateRendererDependencies {
  readonly logger: Logger;
  /** Of `now` in the date filter, one time for a whole message; absent: the wall clock. */
  readonly clock?: Pick<Clock, 'now'>;
  /** The worker's entry; absent: worker.ts beside this file. */
  readonly workerUrl?: URL;
  /** Absent: as templateLimits has it. */
  readonly patience?: Patience;
}

type Field = 'subject' | 'body';

const { memoryInPlaceMax } = templateLimits;

export function createTemplateRenderer({
  logger,
  clock = Date,
  workerUrl = new URL('./worker.ts', import.meta.url),
  patience = templateLimits,
}: TemplateRendererDependencies): TemplateRenderer {
  const compiler = createTemplateCompiler();
  const tags = createTagRenderer({ logger, workerUrl, patience });

  /** Text at once, or the call that has it rendered in the worker: made once nothing else of the message can fail. @throws DomainError naming the field */
  function renderField(
    field: Field,
    source: string,
    input: TaggedInput,
    owner: string,
  ): string | (() => Promise<string>) {
    try {
      const parsed = isLongToParse(source) ? null : compiler.parse(source);
      if (parsed?.kind === 'flat') return renderOutputs(parsed.parts, input, memoryBudget(memoryInPlaceMax));
    } catch (thrown) {
      // What costs more than the main thread has to give isn't refused yet: the worker has more, and limits that hold.
      if (!(thrown instanceof TemplateError && thrown.kind === 'limit')) throw toRefusal(field, thrown);
    }
    return () =>
      tags.render({ source, asks: 'text', ...input }, owner).catch((error: unknown) => {
        throw toRefusal(field, error);
      });
  }

  async function parseProblem(field: Field, source: string, owner: string): Promise<ErrorDetail | null> {
    try {
      if (isLongToParse(source)) await tags.render({ source, asks: 'syntax', ...nothing }, owner);
      else compiler.parse(source);
      return null;
    } catch (thrown) {
      if (!(thrown instanceof TemplateError)) throw thrown;
      return { path: field, message: describe(thrown) };
    }
  }

  function renderMessage(
    source: TemplateSource,
    data: TaggedInput['data'],
    { isEmail, owner }: RenderOptions,
    missing: Missing,
  ): RenderedTemplate | Promise<RenderedTemplate> {
    const bodyFormat = isEmail && isHtmlSource(source.body) ? 'html' : 'text';
    const now = clock.now();
    const ofSubject = { data, now, html: false, missing: missing.subject };
    const ofBody = { data, now, html: bodyFormat === 'html', missing: missing.body };
    const subject = source.subject === null ? null : renderField('subject', source.subject, ofSubject, owner);
    const body = renderField('body', source.body, ofBody, owner);
    if (typeof body === 'string' && typeof subject !== 'function') return finished({ subject, body, bodyFormat });
    return Promise.all([called(subject), called(body)]).then(([subject, body]) =>
      finished({ subject, body, bodyFormat }),
    );
  }

  return {
    async check({ subject, body }, { owner }) {
      const details = await Promise.all([
        subject === null ? null : parseProblem('subject', subject, owner),
        parseProblem('body', body, owner),
      ]);
      return details.filter((detail) => detail !== null);
    },
    render(source, data, options) {
      if (options.isStrict !== true) return renderMessage(source, data, options, nobodyAsks);
      const missing = { subject: new Set<string>(), body: new Set<string>() };
      const rendering = renderMessage(source, data, options, missing);
      return rendering instanceof Promise
        ? rendering.then((rendered) => lackingNothing(rendered, missing))
        : lackingNothing(rendering, missing);
    },
    async preview(source, data, options) {
      const missing = { subject: new Set<string>(), body: new Set<string>() };
      const rendered = await renderMessage(source, data, options, missing);
      return { ...rendered, missing: namesOf(missing) };
    },
    close: () => tags.close(),
  };
}

/** Of what is parsed alone nothing is rendered. */
const nothing: TaggedInput = { data: {}, html: false, now: 0, missing: null };

/** Whether parsing would hold the caller's thread for longer than one template may. */
function isLongToParse(source: string): boolean {
  const { parsedInPlaceCharactersMax } = templateLimits;
  if (source.length <= parsedInPlaceCharactersMax) return false;
  let characters = 0;
  for (const [placeholder] of source.matchAll(/\{\{[^]*?(?:\}\}|$)|\{%[^]*?(?:%\}|$)/g)) {
    characters += placeholder.length;
    if (characters > parsedInPlaceCharactersMax) return true;
  }
  return false;
}

/** Of each field its own, since both may be rendered at the same time. */
type Missing = Readonly<Record<Field, MissingNames | null>>;

const nobodyAsks: Missing = { subject: null, body: null };

/** The subject's first, each once. */
function namesOf({ subject, body }: Missing): string[] {
  return [...new Set([...(subject ?? []), ...(body ?? [])])];
}

/** @throws DomainError for names that were missing, all of them */
function lackingNothing(rendered: RenderedTemplate, missing: Missing): RenderedTemplate {
  const names = namesOf(missing);
  if (names.length > 0) throw lackingNames(names);
  return rendered;
}

function called<T extends string | null>(rendering: T | (() => Promise<T>)): T | Promise<T> {
  return typeof rendering === 'function' ? rendering() : rendering;
}

function toRefusal(field: Field, thrown: unknown): unknown {
  return thrown instanceof TemplateError ? badField(field, describe(thrown)) : thrown;
}

/** @throws DomainError for a subject or body that is too long or not one line */
function finished(rendered: RenderedTemplate): RenderedTemplate {
  const { subject, body } = rendered;
  const ofSubject = subject === null ? null : subjectProblem(subject);
  if (ofSubject !== null) throw renderedField('subject', ofSubject);
  const ofBody = bodyProblem(body);
  if (ofBody !== null) throw renderedField('body', ofBody);
  return rendered;
}

function renderedField(field: Field, problem: string): DomainError {
  return badField(field, `${problem} after rendering`);
}
