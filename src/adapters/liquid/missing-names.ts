// Names that a template asks for and that its data doesn't have, in the order of their first use; bounded, since loops can make up any number of them.

import { templateLimits } from './limits.ts';

/** Dotted paths. A Set, so that it can be handed to the worker and back. */
export type MissingNames = Set<string>;

/** Of a name that is too long its beginning is told; of too many those that came first. */
export function addMissing(missing: MissingNames, name: string): void {
  const { missingNamesMax, missingNameCharactersMax } = templateLimits;
  if (missing.size >= missingNamesMax) return;
  missing.add(name.length <= missingNameCharactersMax ? name : `${name.slice(0, missingNameCharactersMax - 1)}…`);
}
