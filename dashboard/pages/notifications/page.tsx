// The log of notifications, or one of them.

import { route } from '../../router.ts';
import { ListPage } from './list-page.tsx';
import { OnePage } from './one-page.tsx';

export function NotificationsPage() {
  const { id } = route.value;
  return id === null ? <ListPage /> : <OnePage key={id} id={id} />;
}
