// What one render may still use up: filters, and every value that is read, printed or taken for a key.

import { templateLimits, tooMuchMemory } from './limits.ts';
import { LimitError } from './template-error.ts';

/** liquidjs's filters call `use` with the characters or items that they handle; see limits.ts for what else is charged. */
export interface Budget {
  /** @throws LimitError */
  use(count: number): void;
}

export function createBudget(limit: number, message: string): Budget {
  let used = 0;
  return {
    use(count) {
      if (!(count > 0)) return;
      used += count;
      if (used > limit) throw new LimitError(message);
    },
  };
}

/** Of what a render may handle: on the caller's thread little, in the worker more. */
export function memoryBudget(limit: number): Budget {
  return createBudget(limit, tooMuchMemory);
}

/** An output, a filter, a key of a path: small things of which a template may have tens of thousands. @throws LimitError */
export function useStep(budget: Budget): void {
  budget.use(templateLimits.stepCharacters);
}
