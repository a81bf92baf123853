// Names that a template asks for and that its data doesn't have, in the order of their first use; bounded, since loops can make up any number of them.

import { templateLimits } from './limits.ts';

/** Dotted paths. A Set, so that it can be handed to the worker and back. */
export type MissingNames = Set<string>;

/** What is beyond the limits isn't told. */
export function addMissing(missing: MissingNames, name: string): void {
  const { missingNamesMax, missingNameCharactersMax } = templateLimits;
  if (missing.size < missingNamesMax && name.length <= missingNameCharactersMax) missing.add(name);
}
