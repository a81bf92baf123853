// What the renderer and its worker say to each other; one job at a time.

import type { TaggedInput } from './tagged.ts';

export interface WorkerJob extends TaggedInput {
  readonly source: string;
  /** Its text, or only whether it parses: then the text is empty. */
  readonly asks: 'text' | 'syntax';
}

export type WorkerAnswer =
  /** Loaded; the first job may come. */
  | { readonly kind: 'ready' }
  | {
      readonly kind: 'rendered';
      readonly text: string;
      /** In order; empty when nobody asked. */
      readonly missing: readonly string[];
    }
  | {
      readonly kind: 'failed';
      /** A TemplateError's own. */
      readonly error: {
        readonly kind: 'invalid' | 'limit';
        readonly message: string;
        readonly line: number | null;
        readonly column: number | null;
      };
    };
