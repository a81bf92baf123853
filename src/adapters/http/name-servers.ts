// Looks names up: in the hosts file, then at the name servers, each question by UDP from this thread. (getaddrinfo takes one of the process's four
// threads for each name until its server answers: names that never resolve would stop everything else that needs them.) How many are looked up at once
// is bounded by the attempts in flight: 32 of a tenant and provider.
//
//   hosts file ──> localhost ──> A and AAAA of the name as it is ──> the same with each domain of `search`, for names with few dots

import { readFileSync } from 'node:fs';
import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';

import type { Clock } from '../../ports/clock.ts';
import type { ResolvedAddress } from './guard-addresses.ts';
import type { LookUp, ResolvedName } from './guard-names.ts';

export interface NameServersDependencies {
  readonly clock: Clock;
  /** `address` or `address:port`, asked for whenever those of the system's file have changed; absent: the system's. */
  readonly servers?: () => readonly string[];
  /** Absent: the system's. */
  readonly hostsPath?: string;
  readonly resolvConfPath?: string;
}

/** A question is asked twice at most, each name server having so long to answer. */
const questionMs = 2_000;
const questionTries = 2;
/** Of all questions of one lookup: an attempt has 15 s for everything. */
const lookupMsMax = 5_000;
/** Who has an IPv4 address waits no longer for the other: some name servers never answer AAAA. */
const secondFamilyMs = 300;
/** Of each family, as the name server has them first: an answer of 64 KiB has 4,000, which would all be kept, and tried one after another. */
const addressesMax = 16;
/** Files that seldom change are read again after so long. */
const filesKeptMs = 5_000;
const searchMax = 6;
const hostsTtlMs = 5_000;

interface SystemFiles {
  /** By name, in lower case. */
  readonly hosts: ReadonlyMap<string, readonly ResolvedAddress[]>;
  readonly search: readonly string[];
  /** A name with fewer dots may be meant inside a domain of `search`. */
  readonly ndots: number;
  /** As they stand there; none while the file isn't there, or is being written. */
  readonly nameServers: readonly string[];
}

export function createLookUp(dependencies: NameServersDependencies): LookUp {
  const { clock } = dependencies;
  const files = keptFiles(dependencies);
  const resolverFor = keptResolver(dependencies);

  return async (name) => {
    const plain = (name.endsWith('.') ? name.slice(0, -1) : name).toLowerCase();
    const { hosts, search, ndots, nameServers } = files();
    const literal = literalOf(plain);
    if (literal !== null) return { addresses: [literal], ttlMs: hostsTtlMs };
    const local = hosts.get(plain) ?? (isLocalhost(plain) ? loopback : undefined);
    if (local !== undefined) return { addresses: local, ttlMs: hostsTtlMs };
    const isWhole = name.endsWith('.') || plain.split('.').length > ndots;
    const names = isWhole ? [plain] : [plain, ...search.map((domain) => `${plain}.${domain}`)];
    const resolver = resolverFor(nameServers);
    return within(
      clock,
      lookupMsMax,
      firstFound(names, (one) => askBoth(resolver, clock, one)),
    );
  };
}

/** An address in any spelling that a URL may have (127.1, 0x7f000001): no name server is asked for it. */
function literalOf(name: string): ResolvedAddress | null {
  const address = isIP(name) === 0 ? (URL.parse(`http://${name}/`)?.hostname ?? '') : name;
  const family = isIP(address);
  return family === 0 ? null : { address, family };
}

/** The first of these names that there is. @throws Error of the first name when there is none of them */
async function firstFound(names: readonly string[], ask: LookUp): Promise<ResolvedName> {
  let failure: unknown;
  for (const name of names) {
    try {
      return await ask(name);
    } catch (error) {
      failure ??= error;
      if (!isAbsent(error)) throw error;
    }
  }
  throw failure;
}

async function askBoth(resolver: Resolver, clock: Clock, name: string): Promise<ResolvedName> {
  const four = resolver.resolve4(name, { ttl: true });
  const six = resolver.resolve6(name, { ttl: true });
  six.catch(() => undefined);
  const [ofFour] = await Promise.allSettled([four]);
  // Without an IPv4 address the other family is all there is.
  const [ofSix] = await Promise.allSettled([ofFour.status === 'fulfilled' ? within(clock, secondFamilyMs, six) : six]);
  const found = [
    ...(ofFour.status === 'fulfilled' ? firstOf(ofFour.value, 4) : []),
    ...(ofSix.status === 'fulfilled' ? firstOf(ofSix.value, 6) : []),
  ];
  if (found.length > 0) {
    const ttlMs = Math.min(...found.map(({ ttl }) => ttl)) * 1000;
    return { addresses: found.map(({ address, family }) => ({ address, family })), ttlMs };
  }
  throw named(ofFour.status === 'rejected' && ofSix.status === 'rejected' ? worse(ofFour.reason, ofSix.reason) : null);
}

function firstOf<T extends object>(records: readonly T[], family: number): (T & { readonly family: number })[] {
  return records.slice(0, addressesMax).map((record) => ({ ...record, family }));
}

/** Of two families that failed, what isn't a plain "there is none". */
function worse(one: unknown, other: unknown): unknown {
  return isAbsent(one) ? other : one;
}

const absent = new Set<unknown>(['ENOTFOUND', 'ENODATA', 'EBADNAME', 'EBADQUERY']);

function isAbsent(error: unknown): boolean {
  return absent.has((error as { code?: unknown } | null)?.code);
}

/** By the codes that everyone knows, without the name servers' addresses. */
function named(error: unknown): Error {
  const { code } = (error ?? { code: 'ENOTFOUND' }) as { code?: unknown };
  const known = isAbsent(error) || typeof code !== 'string' ? 'ENOTFOUND' : code === 'ETIMEOUT' ? 'ETIMEDOUT' : code;
  const reason = known === 'ENOTFOUND' ? 'the name has no address' : 'no name server told the address of the name';
  return Object.assign(new Error(reason), { code: known });
}

async function within<T>(clock: Clock, ms: number, work: Promise<T>): Promise<T> {
  const waited = new AbortController();
  const late = clock.sleep(ms, waited.signal).then(() => {
    throw named({ code: 'ETIMEDOUT' });
  });
  late.catch(() => undefined);
  try {
    return await Promise.race([work, late]);
  } finally {
    waited.abort();
  }
}

const loopback: readonly ResolvedAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

/** RFC 6761: never asked of a name server. */
function isLocalhost(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost');
}

function keptFiles({ clock, hostsPath = systemHosts(), resolvConfPath = '/etc/resolv.conf' }: NameServersDependencies) {
  let files: SystemFiles | null = null;
  let readAt = -Infinity;
  return (): SystemFiles => {
    const now = clock.monotonic();
    if (files === null || now - readAt >= filesKeptMs) {
      files = { hosts: hostsOf(textOf(hostsPath)), ...resolvConfOf(textOf(resolvConfPath)) };
      readAt = now;
    }
    return files;
  };
}

/** A resolver reads the system's name servers once, as it is made: a network that has others by now (a lease, a VPN, a cluster's DNS that moved) takes another one. */
function keptResolver({ servers }: NameServersDependencies): (nameServers: readonly string[]) => Resolver {
  let kept: { readonly resolver: Resolver; readonly of: string } | null = null;
  return (nameServers) => {
    const of = nameServers.join(' ');
    if (kept !== null && (of === kept.of || of === '')) return kept.resolver;
    const resolver = new Resolver({ timeout: questionMs, maxTimeout: questionMs, tries: questionTries });
    if (servers !== undefined) resolver.setServers(servers());
    kept = { resolver, of };
    return resolver;
  };
}

function systemHosts(): string {
  return process.platform === 'win32' ? String.raw`C:\Windows\System32\drivers\etc\hosts` : '/etc/hosts';
}

/** Small files of the system, now and then; one that isn't there says nothing. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function hostsOf(text: string): Map<string, ResolvedAddress[]> {
  const hosts = new Map<string, ResolvedAddress[]>();
  for (const [address = '', ...names] of wordsOfLines(text)) {
    const family = isIP(address);
    if (family === 0) continue;
    for (const name of names) {
      const key = name.toLowerCase();
      hosts.set(key, [...(hosts.get(key) ?? []), { address, family }]);
    }
  }
  return hosts;
}

function resolvConfOf(text: string): Omit<SystemFiles, 'hosts'> {
  let search: readonly string[] = [];
  let ndots = 1;
  const nameServers: string[] = [];
  for (const [keyword, ...values] of wordsOfLines(text)) {
    if (keyword === 'search' || keyword === 'domain') search = values.slice(0, searchMax);
    if (keyword === 'nameserver') nameServers.push(...values);
    if (keyword !== 'options') continue;
    for (const value of values) if (value.startsWith('ndots:')) ndots = Number(value.slice('ndots:'.length)) || 1;
  }
  const domains = search.map((domain) => domain.replace(/\.$/, '')).filter((domain) => domain !== '');
  return { search: domains, ndots, nameServers };
}

function wordsOfLines(text: string): string[][] {
  return text.split('\n').map((line) =>
    line
      .replace(/[#;].*$/, '')
      .trim()
      .split(/\s+/),
  );
}
