// Rendering of templates with tags, which runs in the worker: liquidjs drives the tags, this counts what they cost.

import { Context, type Emitter, type Liquid, type Template, toValueSync } from 'liquidjs';
import { createBudget, memoryBudget } from './budget.ts';
import { type Frame, readPath } from './frame.ts';
import { templateLimits, tooLong } from './limits.ts';
import type { MissingNames } from './missing-names.ts';
import { nowhere, TemplateError, toTemplateError } from './template-error.ts';
import { type Key, propertyOf, toText } from './values.ts';

export interface TaggedInput {
  readonly data: Readonly<Record<string, unknown>>;
  readonly html: boolean;
  /** UTC ms */
  readonly now: number;
  /** Where missing names are noted; null: nobody asks. */
  readonly missing: MissingNames | null;
}

/** @throws TemplateError */
export function renderTagged(liquid: Liquid, templates: Template[], input: TaggedInput): string {
  const context = new TemplateContext(liquid, input);
  const emitter = createEmitter();
  try {
    toValueSync(liquid.renderer.renderTemplates(templates, context, emitter));
  } catch (thrown) {
    throw toTemplateError(thrown);
  }
  return emitter.buffer;
}

/** liquidjs's context, reading names as frame.ts does and counting every step. */
export class TemplateContext extends Context {
  readonly frame: Frame;
  private readonly locals: Record<string, unknown>[];

  constructor(liquid: Liquid, { data, html, now, missing }: TaggedInput) {
    const memory = memoryBudget(templateLimits.memoryInWorkerMax);
    const steps = createBudget(templateLimits.stepsMax, tooLong);
    const memoryLimit = { use: memory.use } as unknown as Context['memoryLimit'];
    const renderLimit = { check: () => steps.use(1) } as unknown as Context['renderLimit'];
    super(data, liquid.options, { sync: true }, { memoryLimit, renderLimit, liquid });
    this.locals = [this.bottom()];
    this.frame = { data, html, now, memory, missing, locals: this.locals };
  }

  override push(scope: object): number {
    this.locals.push(scope as Record<string, unknown>);
    return super.push(scope);
  }

  override pop(): ReturnType<Context['pop']> {
    this.locals.pop();
    return super.pop();
  }

  override *_get(path: Parameters<Context['_get']>[0]): IterableIterator<unknown> {
    const keys = path.map((key): Key => (typeof key === 'number' ? key : toText(key, this.frame.memory)));
    return (yield readPath(this.frame, keys, keys.join('.'))) as unknown;
  }

  override readProperty(value: unknown, key: unknown): unknown {
    const { memory } = this.frame;
    return propertyOf(value, typeof key === 'number' ? key : toText(key, memory), memory);
  }
}

function createEmitter(): Emitter {
  const emitter = {
    buffer: '',
    write(text: string): void {
      emitter.buffer += text;
      if (emitter.buffer.length > templateLimits.outputCharactersMax) throw outputTooLong();
    },
  };
  return emitter;
}

export function outputTooLong(): TemplateError {
  return new TemplateError(
    'invalid',
    `must have at most ${templateLimits.outputCharactersMax / 1024} Ki characters after rendering`,
    nowhere,
  );
}
