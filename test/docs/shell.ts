// Commands typed into one shell, one after another: what a variable was set to is there for the next.

import { spawn } from 'node:child_process';
import { once } from 'node:events';

export interface Outcome {
  readonly command: string;
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A line that no command prints, with the exit code behind it. */
const mark = '\u0001exit';

export async function runInShell(
  commands: readonly string[],
  { cwd, environment }: { readonly cwd: string; readonly environment: Readonly<Record<string, string>> },
): Promise<Outcome[]> {
  const typed = commands.map((command) => `${command}\ncode=$?; echo "${mark} $code"; echo "${mark}" >&2`);
  const child = spawn('sh', ['-c', typed.join('\n')], { cwd, env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
  const told = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (told.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (told.stderr += text));
  await once(child, 'close');
  const answers = told.stdout.split(mark);
  const complaints = told.stderr.split(mark);
  return commands.map((command, i) => {
    const code = /^ (\d+)\n/.exec(answers[i + 1] ?? '')?.[1];
    // Behind the exit code of the one before.
    const stdout = (answers[i] ?? '').replace(/^ \d+\n/, '');
    return { command, code: code === undefined ? null : Number(code), stdout, stderr: complaints[i] ?? '' };
  });
}
