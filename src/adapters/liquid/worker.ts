// The worker thread that renders templates with tags; the renderer ends it when one takes too long.

import { parentPort } from 'node:worker_threads';
import { memoryBudget } from './budget.ts';
import { createTemplateCompiler } from './compiler.ts';
import { templateLimits } from './limits.ts';
import { renderOutputs } from './outputs.ts';
import { renderTagged } from './tagged.ts';
import { toTemplateError } from './template-error.ts';
import type { WorkerAnswer, WorkerJob } from './worker-messages.ts';

const compiler = createTemplateCompiler();

parentPort?.on('message', (job: WorkerJob) => answer(perform(job)));
answer({ kind: 'ready' });

function perform(job: WorkerJob): WorkerAnswer {
  try {
    const parsed = compiler.parse(job.source);
    if (job.asks === 'syntax') return { kind: 'rendered', text: '', missing: [] };
    const text =
      parsed.kind === 'flat'
        ? renderOutputs(parsed.parts, job, memoryBudget(templateLimits.memoryInWorkerMax))
        : renderTagged(compiler.liquid, parsed.templates, job);
    return { kind: 'rendered', text, missing: [...(job.missing ?? [])] };
  } catch (thrown) {
    const { kind, message, line, column } = toTemplateError(thrown);
    return { kind: 'failed', error: { kind, message, line, column } };
  }
}

function answer(message: WorkerAnswer): void {
  parentPort?.postMessage(message);
}
