// How much of a process jobs may take, and how long each may hold what.

/** Jobs that a process works on at once, each with a page of 1 MiB in hand. */
export const placesMax = 4;
/** Then a job makes room for those of other tenants. */
export const turnMs = 10_000;
/** How long nobody looks for a job where there was none. */
export const lookEveryMs = 500;

/**
 * From one write of the mark to the next: a page is read in 1 s, appended in 15 s (Kafka's deadline), and rests 1 s. Whoever is killed is followed after so
 * long at most.
 */
export const leaseMs = 20_000;
/** What takes longer than a lease by itself prolongs it so often. */
export const prolongEveryMs = 5_000;
/** After a failure (the log or a store away), and while the records are too far behind, a job rests so long, and goes on from its mark. */
export const troubleRestMs = 5_000;
/** One that has not come on for so long, of which somebody tried, never will. */
export const stuckMaxMs = 24 * 60 * 60 * 1000;

/** A page is a fifth of a second's work: at 500 a second 100 notifications, at 1 a second one. */
export const pagesPerSecond = 5;
export const pageMax = 100;
/** After a page in which there was nothing to do: 2,000 rows were looked at for it. */
export const emptyPageRestMs = 50;

/** A cancel is decided in some 100 ms; an attempt that is under way may take longer, and then it is too late. */
export const decisionWaitMs = 8_000;
/** The records of what a former owner had in hand are waited for so long at a time, then the lease is prolonged and it is seen whether to stop. */
export const recordsWaitMs = 5_000;

/** An erasure reads so many events of the log between two writes of its mark, or for so long: what is behind the records is read in the rests of others. */
export const erasedReadEvents = 5000;
export const erasedReadMs = 500;
