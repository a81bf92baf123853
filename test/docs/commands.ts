// The commands that the documents tell people to type: those of fenced blocks, and those between backticks or in the comments of ops/.

import { readdirSync, readFileSync } from 'node:fs';

export interface DocumentedCommand {
  readonly file: string;
  readonly text: string;
}

const root = new URL('../../', import.meta.url);
const documents = ['README.md', 'OPERATIONS.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'ARCHITECTURE.md'];
/** What a shell runs begins so; `herald NAME` alone is a mention. */
const beginning = /^(?:[A-Z_0-9]+=\S+ )*(?:npm|npx|docker|curl|kubectl|systemctl|\.ci\/|test\/\S+\.sh)(?:\s|$)/;

export function documentedCommands(): DocumentedCommand[] {
  return [...documents.flatMap(commandsOf), ...opsFiles().flatMap(commandsOfComments)];
}

/** Every mention of a command of Herald's own, with its arguments: `npm run -s herald -- NAME ...`, `herald NAME ...`, `NAME --option ...`. */
export function mentions(
  names: readonly string[],
): { readonly file: string; readonly name: string; readonly args: string }[] {
  const after = new RegExp(`^(?:.*npm run -s herald -- |herald )([a-z][a-z-]*)(?![\\w/|])(.*)$`, 's');
  const bare = new RegExp(`^(${names.join('|')})( .*--.*)$`, 's');
  return documents.flatMap((file) =>
    [...spansOf(file), ...commandsOf(file).map(({ text }) => text)].flatMap((span) => {
      const [, name, args = ''] = after.exec(span) ?? bare.exec(span) ?? [];
      return name === undefined ? [] : [{ file, name, args }];
    }),
  );
}

export function textOf(file: string): string {
  return readFileSync(new URL(file, root), 'utf8');
}

const fence = /^( *)```sh\n(.*?)^ *```$/gms;

function commandsOf(file: string): DocumentedCommand[] {
  const fenced = [...textOf(file).matchAll(fence)].flatMap(([, indent = '', block = '']) => linesOf(block, indent));
  const inline = spansOf(file).filter((span) => beginning.test(span));
  return [...new Set([...fenced, ...inline])].map((text) => ({ file, text }));
}

function spansOf(file: string): string[] {
  const prose = textOf(file).replace(/^ *```.*?^ *```$/gms, '');
  return [...prose.matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span);
}

/** One command each: what is quoted may go over lines, and a pipe; comments are left out. */
function linesOf(block: string, indent: string): string[] {
  const commands: string[] = [];
  let open = '';
  for (const line of block.split('\n')) {
    // What is said of a command stands behind it.
    const own = (line.startsWith(indent) ? line.slice(indent.length) : line).replace(/ +# .*$/, '');
    if (open === '' && /^\s*(#|$)/.test(own)) continue;
    open = open === '' ? own : `${open}\n${own}`;
    if ((open.split("'").length - 1) % 2 === 1 || open.endsWith('|')) continue;
    commands.push(open.trim());
    open = '';
  }
  return commands;
}

function opsFiles(): string[] {
  const entries = readdirSync(new URL('ops/', root), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !entry.name.endsWith('.json'));
  return files.map((entry) => `${entry.parentPath}/${entry.name}`.slice(root.pathname.length).replace(/^\/+/, ''));
}

/** In a comment a command goes to the line's end, or to the bracket's that it stands in. */
function commandsOfComments(file: string): DocumentedCommand[] {
  const comments = [...textOf(file).matchAll(/^#(.*)$/gm)].map(([, comment = '']) => comment);
  return comments.flatMap((comment) =>
    [...comment.matchAll(/\b(?:kubectl|systemctl|docker|npm) [a-z][^)]*/g)].map(([text]) => ({
      file,
      text: text.trim(),
    })),
  );
}
