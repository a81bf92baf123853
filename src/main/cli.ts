// The command line: herald serve | token | listen | mail | send | show | tail | config | backup | restore | rebuild | adopt | reconcile | dead-letters | rotate-secrets | tenants | compact | copy-log | erase | export | stats | compare.

import { parseArgs } from 'node:util';

import { nearMiss } from '../domain/near-miss.ts';
import { ConfigError, describeConfig, readConfig } from './config.ts';
import { channelsOf, rolesOf, startOf } from './serve-values.ts';
import { toolHelp } from './tools/help.ts';
import { usage } from './usage.ts';
import { UsageError } from './usage-error.ts';
import { readVersion } from './version.ts';

const commands: Readonly<Record<string, (args: string[]) => Promise<void>>> = {
  async serve(args) {
    const options = {
      role: { type: 'string' },
      channel: { type: 'string' },
      from: { type: 'string' },
      'as-of': { type: 'string' },
      keep: { type: 'string' },
      port: { type: 'string' },
    } as const;
    const { values } = parseArgs({ args, options });
    if (values['as-of'] !== undefined) return (await import('./look-back-commands.ts')).serveAsOf(values);
    for (const name of ['keep', 'port'] as const)
      if (values[name] !== undefined) throw new UsageError(`--${name}: goes with --as-of`);
    const roles = rolesOf(values.role);
    if (values.channel !== undefined && !roles.has('dispatcher'))
      throw new UsageError('--channel: is for the role dispatcher, which is not among --role');
    const { serve } = await import('./serve.ts');
    await serve(readConfig(), { roles, from: startOf(values.from), channels: channelsOf(values.channel) });
  },
  async token(args) {
    const options = {
      sub: { type: 'string' },
      email: { type: 'string' },
      name: { type: 'string' },
      hours: { type: 'string' },
    } as const;
    const { values } = parseArgs({ args, options });
    const { printToken } = await import('./token.ts');
    await printToken(readConfig(), { ...values, hours: hoursOf(values.hours) });
  },
  async listen(args) {
    const options = {
      port: { type: 'string' },
      forward: { type: 'string' },
      status: { type: 'string' },
      secret: { type: 'string' },
      url: { type: 'string' },
    } as const;
    const { port, status, ...rest } = parseArgs({ args, options }).values;
    const answers = numberOf('--status', status ?? '200', { min: 200, max: 599 });
    const { listenToWebhooks } = await import('./tools/listen.ts');
    await listenToWebhooks(readConfig(), { ...rest, port: portOf(port ?? '4000'), status: answers });
  },
  async mail(args) {
    const { values } = parseArgs({ args, options: { port: { type: 'string' }, url: { type: 'string' } } });
    const { showMails } = await import('./tools/mail.ts');
    await showMails(readConfig(), { url: values.url, port: portOf(values.port ?? '2525') });
  },
  async send(args) {
    await (await import('./tools/commands.ts')).send(args);
  },
  async show(args) {
    await (await import('./tools/commands.ts')).show(args);
  },
  async tail(args) {
    await (await import('./tools/commands.ts')).tail(args);
  },
  async config(args) {
    parseArgs({ args, options: {} });
    for (const { name, value, fallback, about } of describeConfig()) {
      process.stdout.write(
        `${name.padEnd(27)}${(value === '' ? '-' : value).padEnd(22)} default ${(fallback === '' ? '-' : fallback).padEnd(12)} ${about}\n`,
      );
    }
    readConfig();
  },
  async backup(args) {
    const { positionals } = parseArgs({ args, options: {}, allowPositionals: true });
    const { backUp } = await import('./backup.ts');
    await backUp(readConfig(), folderOf(positionals));
  },
  async restore(args) {
    const options = { pending: { type: 'string' } } as const;
    const { positionals, values } = parseArgs({ args, options, allowPositionals: true });
    const { pendingChoices } = await import('../reconcile/pending.ts');
    const choice = pendingChoices.find((one) => one === values.pending);
    if (choice === undefined)
      throw new UsageError(
        '--pending: say what becomes of what was to be sent when the backup was made, and may have been sent since: send, hold (FAILED until a retry) or cancel',
      );
    const { restore } = await import('./restore.ts');
    await restore(readConfig(), folderOf(positionals), choice);
  },
  async rebuild(args) {
    const { values } = parseArgs({ args, options: { watch: { type: 'boolean' } } });
    const { rebuildReadModels, watchRebuilds } = await import('./rebuild.ts');
    await (values.watch === true ? watchRebuilds(readConfig()) : rebuildReadModels(readConfig()));
  },
  async adopt(args) {
    parseArgs({ args, options: {} });
    const { adopt } = await import('./adopt.ts');
    await adopt(readConfig());
  },
  async reconcile(args) {
    const options = {
      repair: { type: 'boolean' },
      all: { type: 'boolean' },
      'older-than': { type: 'string' },
    } as const;
    const { values } = parseArgs({ args, options });
    const { repair: repairs = false, all: showsAll = false } = values;
    const youngerThanMs = minutesOf(values['older-than']) * 60_000;
    const { reconcileLog } = await import('./reconcile.ts');
    const isWhole = await reconcileLog(readConfig(), { repairs, showsAll, youngerThanMs });
    if (!isWhole) process.exitCode = 1;
  },
  async 'dead-letters'(args) {
    const { positionals } = parseArgs({ args, options: {}, allowPositionals: true });
    const [verb = '', place = null, ...more] = positionals;
    const isForAll = verb === 'list' || (verb === 'replay' && place === 'all');
    const isForOne = (verb === 'show' || verb === 'replay') && place !== null;
    if (more.length > 0 || (verb === 'list' && place !== null) || !(isForAll || isForOne))
      throw new UsageError(
        'dead-letters: should be: dead-letters list, dead-letters show PLACE, or dead-letters replay PLACE|all',
      );
    const { lookAfterDeadLetters } = await import('./dead-letters.ts');
    await lookAfterDeadLetters(readConfig(), verb, isForAll ? null : place);
  },
  async 'rotate-secrets'(args) {
    parseArgs({ args, options: {} });
    const { rotateSecrets } = await import('./rotate-secrets.ts');
    await rotateSecrets(readConfig());
  },
  async tenants(args) {
    const { tenantSettingOf } = await import('./tenant-options.ts');
    const { id, given } = tenantSettingOf(args);
    const { setTenant } = await import('./tenants.ts');
    await setTenant(readConfig(), id, given);
  },
  async compact(args) {
    parseArgs({ args, options: {} });
    await (await import('./compact.ts')).compactFiles(readConfig());
  },
  async 'copy-log'(args) {
    const { values } = parseArgs({ args, options: { to: { type: 'string' } } });
    if (values.to !== 'kafka') throw new UsageError('--to: should be kafka');
    const { copyLogToKafka } = await import('./copy-log.ts');
    await copyLogToKafka(readConfig());
  },
  async erase(args) {
    await (await import('./erase.ts')).eraseCommand(args);
  },
  async export(args) {
    await (await import('./export.ts')).exportCommand(args);
  },
  async stats(args) {
    await (await import('./look-back-commands.ts')).stats(args);
  },
  async compare(args) {
    await (await import('./look-back-commands.ts')).compare(args);
  },
};

function folderOf(positionals: readonly string[]): string {
  const [folder] = positionals;
  if (folder === undefined || positionals.length > 1) throw new UsageError('name one folder');
  return folder;
}

function portOf(text: string): number {
  return numberOf('--port', text, { min: 0, max: 65_535 });
}

function numberOf(option: string, text: string, { min, max }: { readonly min: number; readonly max: number }): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < min || number > max)
    throw new UsageError(`${option}: should be a whole number from ${min} to ${max}`);
  return number;
}

function hoursOf(text: string | undefined): number {
  const hours = Number(text ?? '12');
  if (!(hours > 0 && hours <= 8760)) throw new UsageError('--hours: should be a number of hours, at most 8760');
  return hours;
}

function minutesOf(text: string | undefined): number {
  const minutes = Number(text ?? '10');
  if (!(minutes >= 0 && minutes <= 10_080))
    throw new UsageError('--older-than: should be a number of minutes, at most 10080');
  return minutes;
}

/** What an engine's adapter says when trying again can't help; by name, since only a process that uses an engine loads it. */
const toMend = new Set(['StartError', 'StartRefusal', 'RegistryRefusal', 'MongoRefusal']);

/** A person's mistake is a sentence on stderr; only a bug shows its stack. */
function tellAndExit(error: unknown): never {
  const known =
    error instanceof UsageError || error instanceof ConfigError || (error instanceof Error && toMend.has(error.name));
  const parsing = error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
  const told =
    error instanceof Error ? (known || parsing ? error.message : (error.stack ?? error.message)) : String(error);
  process.stderr.write(`${told}\n`);
  process.exit(error instanceof UsageError || parsing ? 2 : 1);
}

/** Whoever reads has had enough (`| head`): what it wanted it has, and what only tells ends. What changes something goes on, unread. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') {
    if (onlyTells(name, args)) process.exit(0);
    return;
  }
  // Of a service only its banner is lost.
  if (name !== 'serve') tellAndExit(`stdout: ${error.message}`);
});

const telling = new Set(['config', 'listen', 'mail', 'show', 'tail', 'export', 'stats', 'compare']);

function onlyTells(command: string, options: readonly string[]): boolean {
  if (command === 'reconcile') return !options.includes('--repair');
  if (command === 'dead-letters') return options[0] !== 'replay';
  return telling.has(command);
}

// What Herald makes is its owner's alone, also in a folder that others may enter.
process.umask(0o077);

const [name = '', ...args] = process.argv.slice(2);
const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
const isHelp = (text: string) => text === '--help' || text === '-h';
try {
  if (name === '' || name === 'help' || isHelp(name) || (command !== undefined && args.some(isHelp)))
    process.stdout.write(toolHelp[name] ?? usage);
  else if (name === '--version') process.stdout.write(`${readVersion()}\n`);
  else if (command === undefined) {
    const meant = nearMiss(name, Object.keys(commands));
    process.stderr.write(`There is no command ${name}${meant === null ? '' : `; did you mean ${meant}?`}\n\n${usage}`);
    process.exitCode = 2;
  } else await command(args);
} catch (error) {
  tellAndExit(error);
}
