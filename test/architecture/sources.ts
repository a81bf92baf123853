// The source files as oxc reads them: what each imports, types included, and where.

import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseSync, Visitor } from 'oxc-parser';
import type { ParseResult } from 'oxc-parser';

export interface Import {
  /** As it is written: `../ports/clock.ts`, `node:fs`, `zod/v4`. */
  readonly specifier: string;
  /** Nothing of it is left when the types are stripped. */
  readonly typeOnly: boolean;
}

export interface SourceFile {
  /** From src/ on, with slashes: `domain/events.ts`. */
  readonly path: string;
  readonly text: string;
  readonly imports: readonly Import[];
  /** Lines of the places where the type `any` is written. */
  readonly anyLines: readonly number[];
}

export function readSources(): SourceFile[] {
  return readFolder('src');
}

/** Paths from dashboard/ on. */
export function readDashboard(): SourceFile[] {
  return readFolder('dashboard');
}

function readFolder(folder: string): SourceFile[] {
  const root = new URL(`../../${folder}/`, import.meta.url);
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => name.replaceAll('\\', '/'))
    .sort()
    .map((path) => parseSource(path, readFileSync(fileURLToPath(new URL(path, root)), 'utf8')));
}

/** @throws Error when the text doesn't parse, or imports something whose name isn't written out */
export function parseSource(path: string, text: string): SourceFile {
  const parsed = parseSync(path, text);
  const [problem] = parsed.errors;
  if (problem !== undefined) throw new Error(`${path}: ${problem.message}`);
  const imports = [...staticImports(parsed), ...dynamicImports(path, text, parsed)];
  const anyLines: number[] = [];
  new Visitor({
    TSAnyKeyword: ({ start }) => void anyLines.push(lineOf(text, start)),
    TSImportType: ({ source }) => void imports.push({ specifier: source.value, typeOnly: true }),
    NewExpression: (node) => {
      // new Worker(new URL('./worker.ts', import.meta.url)) loads a module as well.
      const [first] = node.arguments;
      if (node.callee.type !== 'Identifier' || node.callee.name !== 'URL' || first?.type !== 'Literal') return;
      const { value } = first;
      if (typeof value === 'string' && /^\.{1,2}\/.*\.ts$/.test(value))
        imports.push({ specifier: value, typeOnly: false });
    },
  }).visit(parsed.program);
  return { path, text, imports, anyLines };
}

function staticImports({ module }: ParseResult): Import[] {
  const imports = module.staticImports.map(({ moduleRequest, entries }) => ({
    specifier: moduleRequest.value,
    typeOnly: entries.length > 0 && entries.every((entry) => entry.isType),
  }));
  const reexports = module.staticExports
    .flatMap(({ entries }) => entries)
    .flatMap(({ moduleRequest, isType }) =>
      moduleRequest === null ? [] : [{ specifier: moduleRequest.value, typeOnly: isType }],
    );
  return [...imports, ...reexports];
}

function dynamicImports(path: string, text: string, { module }: ParseResult): Import[] {
  return module.dynamicImports.map(({ moduleRequest }) => {
    const written = text.slice(moduleRequest.start, moduleRequest.end);
    const specifier = /^(['"])([^'"]+)\1$/.exec(written)?.[2];
    if (specifier === undefined) throw new Error(`${path}: import(${written}) doesn't say what it imports`);
    return { specifier, typeOnly: false };
  });
}

function lineOf(text: string, index: number): number {
  return text.slice(0, index).split('\n').length;
}
