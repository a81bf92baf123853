// Templates of batches: a few of a tenant are with the renderer at once, further ones wait. It refuses what is too much for it, and a flush of a batch would be that.

import type { RenderedTemplate, TemplateRenderer } from '../ports/template-renderer.ts';

/** A thread that renders one at a time always has the next one; those of a tenant that come by themselves find its other places free. */
export const inLineMax = 4;

interface Line {
  underWay: number;
  /** In the order in which they came. */
  readonly waiting: (() => void)[];
}

/** Renders as the renderer does: what takes no thread is rendered at once where nobody of its owner waits. */
export function renderingInLine(renderer: Pick<TemplateRenderer, 'render'>): Pick<TemplateRenderer, 'render'> {
  const lines = new Map<string, Line>();

  return {
    render(source, data, options) {
      const { owner } = options;
      const line = lines.get(owner) ?? { underWay: 0, waiting: [] };
      const begin = (): RenderedTemplate | Promise<RenderedTemplate> => {
        const rendering = renderer.render(source, data, options);
        if (!(rendering instanceof Promise)) return rendering;
        line.underWay++;
        lines.set(owner, line);
        return rendering.finally(() => {
          line.underWay--;
          while (line.underWay < inLineMax && line.waiting.length > 0) line.waiting.shift()?.();
          if (line.underWay === 0) lines.delete(owner);
        });
      };
      if (line.underWay < inLineMax) return begin();
      return new Promise((resolve, reject) => {
        line.waiting.push(() => {
          try {
            resolve(begin());
          } catch (error) {
            reject(error instanceof Error ? error : new Error(String(error)));
          }
        });
      });
    },
  };
}
