// Rendering of templates without tags: on the caller's thread, the hot path, as long as it costs little; else in the worker.

import type { Budget } from './budget.ts';
import type { Frame } from './frame.ts';
import { templateLimits } from './limits.ts';
import type { OutputPart } from './syntax.ts';
import { outputTooLong, type TaggedInput } from './tagged.ts';
import { toTemplateError } from './template-error.ts';

/** @throws TemplateError */
export function renderOutputs(parts: readonly (string | OutputPart)[], input: TaggedInput, memory: Budget): string {
  const { data, html, now, missing } = input;
  const frame: Frame = { data, html, now, memory, missing, locals: noLocals };
  let text = '';
  for (const part of parts) {
    text += typeof part === 'string' ? part : writePart(part, frame);
    if (text.length > templateLimits.outputCharactersMax) throw outputTooLong();
  }
  return text;
}

const noLocals: Frame['locals'] = [];

function writePart(part: OutputPart, frame: Frame): string {
  try {
    return part.write(frame);
  } catch (thrown) {
    const [line = null, column = null] = part.token.getPosition();
    throw toTemplateError(thrown, { line, column });
  }
}
