// Which page is shown: the fragment of the address, so that one file serves all pages under whatever path, and a view can be sent on.
//
//   #/notifications?status=FAILED      #/notifications/notif_...

import { signal } from '@preact/signals';

export interface Route {
  /** The first part of the path; '' is the overview. */
  readonly page: string;
  /** The second part. */
  readonly id: string | null;
  readonly query: URLSearchParams;
}

export const route = signal(routeOf(location.hash));

/** After the address was changed without the browser saying so, too. */
export function readAddress(): void {
  if (location.hash === '' || location.hash.startsWith('#/')) route.value = routeOf(location.hash);
}

addEventListener('hashchange', readAddress);

function routeOf(hash: string): Route {
  // What isn't an address of a page (the link that signs in) leads to the first one.
  const [path = '', query = ''] = hash.startsWith('#/') ? hash.slice(2).split('?') : [];
  const [page = '', id] = path.split('/');
  return { page, id: id === undefined || id === '' ? null : decoded(id), query: new URLSearchParams(query) };
}

export function linkTo(page: string, id: string | null = null, query: Readonly<Record<string, string>> = {}): string {
  const text = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== '')).toString();
  return `#/${page}${id === null ? '' : `/${encodeURIComponent(id)}`}${text === '' ? '' : `?${text}`}`;
}

export function goTo(link: string): void {
  location.hash = link;
}

/** The same page with other filters; `replace` adds no step to the history (while somebody types). */
export function setQuery(query: Readonly<Record<string, string>>, { replace }: { readonly replace: boolean }): void {
  const { page, id } = route.value;
  const link = linkTo(page, id, query);
  if (!replace) return goTo(link);
  history.replaceState(null, '', link);
  route.value = routeOf(link);
}

/** As it stands, where it is no percent encoding. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
