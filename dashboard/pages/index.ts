// The pages, in the order of the navigation; each is loaded when it is first looked at.

import type { ComponentType } from 'preact';

export interface PageEntry {
  /** In the address. */
  readonly name: string;
  readonly title: string;
  readonly load: () => Promise<ComponentType>;
}

export const pages: readonly PageEntry[] = [
  {
    name: 'notifications',
    title: 'Notifications',
    load: async () => (await import('./notifications/page.tsx')).NotificationsPage,
  },
  { name: 'keys', title: 'API keys', load: async () => (await import('./keys/page.tsx')).KeysPage },
];

/** An address that names none leads to the first one. */
export function pageNamed(name: string): PageEntry | undefined {
  return name === '' ? pages[0] : pages.find((page) => page.name === name);
}
