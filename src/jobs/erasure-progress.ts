// What counts how far erasures are.

/** What counts how far erasures are: notifications that they have named, and events that they have read for it. */
export const erasedCount = 'herald_erased_total';
export const eventsRead = 'herald_erasure_events_read_total';
