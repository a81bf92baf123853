// The pages, in the order of the navigation; each is loaded when it is first looked at.

import type { ComponentType } from 'preact';

export interface PageEntry {
  /** In the address. */
  readonly name: string;
  readonly title: string;
  readonly load: () => Promise<ComponentType>;
}

export const pages: readonly PageEntry[] = [
  { name: '', title: 'Overview', load: async () => (await import('./overview/page.tsx')).OverviewPage },
  {
    name: 'notifications',
    title: 'Notifications',
    load: async () => (await import('./notifications/page.tsx')).NotificationsPage,
  },
  { name: 'send', title: 'Send', load: async () => (await import('./send/page.tsx')).SendPage },
  { name: 'templates', title: 'Templates', load: async () => (await import('./templates/page.tsx')).TemplatesPage },
  { name: 'providers', title: 'Providers', load: async () => (await import('./providers/page.tsx')).ProvidersPage },
  { name: 'keys', title: 'API keys', load: async () => (await import('./keys/page.tsx')).KeysPage },
  { name: 'settings', title: 'Settings', load: async () => (await import('./settings/page.tsx')).SettingsPage },
];

export function pageNamed(name: string): PageEntry | undefined {
  return pages.find((page) => page.name === name);
}
