// Every limit of templates, with its arithmetic. A template is its tenant's program: it may cost something, never much.

import { bodyBytesMax } from '../../domain/template.ts';

export const templateLimits = {
  /** A whole request is at most 256 KiB; no source is longer. */
  sourceCharactersMax: 256 * 1024,
  /** Outputs and tags of a source; parsing them takes about 10 ms. */
  placeholdersMax: 2000,
  /** Of one output or tag; some of what reads them grows with the square of their length. */
  placeholderCharactersMax: 8 * 1024,
  /** Characters of all outputs and tags of a source that is parsed on the caller's thread: about 5 ms. What has more is parsed in the worker. */
  parsedInPlaceCharactersMax: 16 * 1024,
  /** Blocks in one another; parsing and rendering recurse. */
  depthMax: 20,
  filtersMax: 20,
  /** Characters after rendering: a body of 200 KiB can't have more (bytes are checked after). */
  outputCharactersMax: bodyBytesMax,
  /**
   * Characters (or items) that one render may handle in place: a value of 64 KiB 16 times, about 2 ms of the main thread. What takes more is rendered in
   * the worker. Text that is put where it stands costs nothing; what else costs more than a character is below, as so many characters of 2 ns.
   */
  memoryInPlaceMax: 1024 * 1024,
  /** The same in the worker, where loops are: 8 M characters or items, at most 64 MiB. */
  memoryInWorkerMax: 8 * 1024 * 1024,
  /** An output, a filter or a key of a path: 100 to 200 ns. */
  stepCharacters: 64,
  /** An item of an array as text, a property of an object that is counted: 50 to 100 ns. */
  itemCharacters: 32,
  /** A character of a value as JSON. */
  jsonCharacters: 4,
  /** A date: about 4 us; one in a zone that wasn't used lately: 50 us. */
  dateCharacters: 2048,
  zoneCharacters: 32 * 1024,
  /** Texts, outputs and tags rendered, over all rounds of all loops: about 50 ms. */
  stepsMax: 50_000,
  /** Processor time of one render in the worker: 5 times what all steps take; then the thread is ended. */
  renderCpuMsMax: 250,
  /** The same by the clock, for a machine with no processor to spare: then its caller gets 503, and may try again. */
  renderMsMax: 2000,
  /** What the worker's heap may grow to: 64 MiB for values and twice its own 15 MiB. */
  workerHeapMiB: 96,
  /** Loading the worker takes about 100 ms of a free core. */
  workerStartMsMax: 10_000,
  /** Threads of templates with tags: the second is started only while the first is held up, so that a slow template holds up no other. */
  threadsMax: 2,
  /** A render that takes longer holds others up; nearly all take 1 ms. */
  heldUpMs: 25,
  /** Waiting for the worker: 256 jobs of at most 256 KiB source and 64 KiB data are 80 MiB at worst, 1 MiB as templates are. */
  queueMax: 256,
  /** A quarter of the queue: one owner's flood leaves room for others. */
  queuePerOwnerMax: 64,
  /** A job that waited longer is answered 503: its caller has given up, or soon will. */
  queueMsMax: 2000,
  /** Sources of which something broke a limit, and of each the data that did, the oldest forgotten first: 16,000 of 200 bytes are 3 MiB. */
  refusedSourcesMax: 1000,
  refusedDataMax: 16,
  /** Names that a preview tells of: as many as a source has outputs at most, 500 KiB of them. */
  missingNamesMax: 2000,
  missingNameCharactersMax: 256,
  /** Compiled sources: 8 MiB are 1,000 templates of 2 KiB with 10 placeholders. */
  cacheBytesMax: 8 * 1024 * 1024,
  /** Formats of dates; longer than any real one. */
  dateFormatCharactersMax: 256,
} as const;

const remedy = 'shorter lists in data or a simpler template would do';
export const tooLong = `takes too long to render: ${remedy}`;
export const tooMuchMemory = `takes too much memory to render: ${remedy}`;

/** What the clock decides, not what a template takes: for want of a processor its caller gets 503, and nothing is refused for good. */
export type Patience = { readonly [Name in 'renderMsMax' | 'queueMsMax' | 'workerStartMsMax']: number };
