// The options of herald serve, from what was typed.

import { type Channel, channels } from '../domain/events.ts';
import { allRoles, type Role } from './config.ts';
import { UsageError } from './usage-error.ts';

/** @throws UsageError */
export function rolesOf(text: string | undefined): ReadonlySet<Role> {
  const names = text === undefined || text === 'all' ? allRoles : text.split(',').map((name) => name.trim());
  const unknown = names.filter((name) => !(allRoles as readonly string[]).includes(name));
  if (unknown.length > 0)
    throw new UsageError(
      `--role: there is no role ${unknown.join(', ')}; roles are ${allRoles.join(', ')}, with commas between them`,
    );
  return new Set(names as Role[]);
}

/** @throws UsageError */
export function channelsOf(text: string | undefined): readonly Channel[] {
  if (text === undefined) return channels;
  const spelled = (channel: Channel) => channel.toLowerCase().replace('_', '-');
  const names = text.split(',').map((name) => name.trim().toLowerCase().replace('_', '-'));
  const unknown = names.filter((name) => !channels.some((channel) => spelled(channel) === name));
  if (unknown.length > 0)
    throw new UsageError(
      `--channel: there is no channel ${unknown.join(', ')}; channels are ${channels.map(spelled).join(', ')}, with commas between them`,
    );
  return channels.filter((channel) => names.includes(spelled(channel)));
}

/** @throws UsageError */
export function startOf(text: string | undefined): 'beginning' | 'end' | number | null {
  if (text === undefined) return null;
  if (text === 'beginning' || text === 'end') return text;
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw new UsageError('--from: should be beginning, end or an ISO 8601 time');
  return time;
}
