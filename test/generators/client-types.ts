// The types of clients/typescript: made of the OpenAPI document by openapi-typescript. `npm run client:types` writes them, a test holds them to the document.

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { openApiDocument } from '../../src/api/docs/document.ts';
import type { HandlerDependencies } from '../../src/api/handlers/index.ts';
import { createHandlers } from '../../src/api/handlers/index.ts';
import { routesOf } from '../../src/api/routes.ts';
import { command, fetchTypescriptTools } from './tools.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
export const clientTypesPath = join(root, 'clients/typescript/src/openapi.ts');

const head = `// The API's types, made by openapi-typescript of the OpenAPI document: \`npm run client:types\` after a change of it. Not to be edited.

`;

/** The file as it ought to be, formatted. */
export async function clientTypes(): Promise<string> {
  const { openApiTypescript } = await fetchTypescriptTools();
  const folder = await mkdtemp(join(tmpdir(), 'herald-client-types-'));
  try {
    const [document, made] = [join(folder, 'openapi.json'), join(folder, 'openapi.ts')];
    await writeFile(document, JSON.stringify(withoutExamples(successesOf(describedApi()))));
    await command(process.execPath, [openApiTypescript, document, '-o', made], { cwd: folder });
    await writeFile(made, head + (await readFile(made, 'utf8')));
    const format = [join(root, 'node_modules/oxfmt/bin/oxfmt'), '--config', join(root, '.oxfmtrc.json'), made];
    await command(process.execPath, format, { cwd: folder });
    return await readFile(made, 'utf8');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** No handler is called: their schemas alone are read. */
function describedApi() {
  const any: object = new Proxy(() => any, { get: () => any });
  return openApiDocument(routesOf(createHandlers(any as HandlerDependencies)));
}

/** All refusals have one shape, which the client knows: of each operation what it answers when it succeeds. */
function successesOf(document: ReturnType<typeof openApiDocument>) {
  const paths = Object.entries(document.paths).map(([path, methods]) => [
    path,
    Object.fromEntries(Object.entries(methods).map(([method, operation]) => [method, successOf(operation)])),
  ]);
  return { ...document, paths: Object.fromEntries(paths) as unknown };
}

function successOf(operation: unknown): unknown {
  const { responses, ...rest } = operation as { readonly responses: Readonly<Record<string, unknown>> };
  const kept = Object.entries(responses).filter(([status]) => status.startsWith('2'));
  return { ...rest, responses: Object.fromEntries(kept) };
}

/** The page at /docs has them; beside types they are three quarters of the file. */
function withoutExamples(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutExamples);
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(([name]) => name !== 'example' && name !== 'examples');
  return Object.fromEntries(
    // A field of an answer may be called so.
    kept.map(([name, inner]) => [
      name,
      name === 'properties' && isObject(inner) ? fieldsOf(inner) : withoutExamples(inner),
    ]),
  );
}

function fieldsOf(properties: object): unknown {
  return Object.fromEntries(Object.entries(properties).map(([field, schema]) => [field, withoutExamples(schema)]));
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await writeFile(clientTypesPath, await clientTypes());
