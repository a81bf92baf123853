// Parsed templates, kept by their source; each thread has its own.

import { createCache } from './cache.ts';
import { templateLimits } from './limits.ts';
import { createTemplateSyntax, type ParsedTemplate, type TemplateSyntax } from './syntax.ts';

export function createTemplateCompiler(): TemplateSyntax {
  const syntax = createTemplateSyntax();
  const cache = createCache<ParsedTemplate>({ bytesMax: templateLimits.cacheBytesMax });
  return {
    liquid: syntax.liquid,
    parse(source) {
      // Most text has no placeholders: nothing to parse, nothing to keep.
      if (!source.includes('{{') && !source.includes('{%')) return { kind: 'flat', parts: [source] };
      const known = cache.get(source);
      if (known !== undefined) return known;
      const parsed = syntax.parse(source);
      cache.set(source, parsed, compiledBytes(source, parsed));
      return parsed;
    },
  };
}

/** A compiled output or tag holds tokens and closures, about 1 KiB; what tags contain isn't counted one by one, so their text stands for it. */
function compiledBytes(source: string, parsed: ParsedTemplate): number {
  return parsed.kind === 'flat' ? parsed.parts.length * 512 : source.length * 16;
}
