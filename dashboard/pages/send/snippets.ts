// A request as somebody would write it: for a shell, and for the typed client. Pure.

import { visibleJson } from '../../format.ts';

type Request = Readonly<Record<string, unknown>>;

/** @param apiUrl ends with a slash */
export function curlOf(request: Request, apiUrl: string): string {
  return [
    `curl -sS ${apiUrl}notify \\`,
    '  -H "x-api-key: $HERALD_API_KEY" \\',
    "  -H 'content-type: application/json' \\",
    `  -d ${shellQuoted(visibleJson(JSON.stringify(request, null, 2)))}`,
  ].join('\n');
}

export function typescriptOf(request: Request, url: string): string {
  return `import { createHerald } from '@herald-notifications/client';

const herald = createHerald({ url: ${JSON.stringify(url)}, apiKey: process.env.HERALD_API_KEY });

const { notificationId } = await herald.notify(${literal(request)});
`;
}

/** Between single quotes a shell reads nothing but the quote itself. */
function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** JSON with names as TypeScript writes them, where they are names. */
function literal(value: unknown): string {
  return visibleJson(JSON.stringify(value, null, 2)).replaceAll(/^(\s*)"([A-Za-z_$][\w$]*)":/gm, '$1$2:');
}
