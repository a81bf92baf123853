// The read models: a new one is one folder and one line here.

import { inboxReadModel } from './inbox/index.ts';
import { notificationsReadModel } from './notifications/index.ts';
import type { ReadModel } from './read-model.ts';
import { searchReadModel } from './search/index.ts';
import { timersReadModel } from './timers/index.ts';

/** Folded by projectors. */
export const projectedReadModels: readonly ReadModel[] = [notificationsReadModel, inboxReadModel, searchReadModel];

/** All of them: the scheduler folds the timers itself, which is why they replace none: two of them would both decide. */
export const readModels: readonly ReadModel[] = [...projectedReadModels, timersReadModel];

/** What those replace: folded and queried while an installation has them and not yet the others. */
export const formerReadModels: readonly ReadModel[] = projectedReadModels.flatMap(({ replaces }) =>
  replaces === undefined ? [] : [replaces.readModel],
);
