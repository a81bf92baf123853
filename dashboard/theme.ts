// Light, dark, or as the system says.

import { effect, signal } from '@preact/signals';

export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const keptName = 'herald-theme';

export const theme = signal<Theme>(keptTheme());

/** What is drawn by a program (the plots) reads its colours anew when this changes. */
export const themeChanges = signal(0);

export function startTheme(): void {
  effect(() => {
    const { classList } = document.documentElement;
    classList.toggle('light', theme.value === 'light');
    classList.toggle('dark', theme.value === 'dark');
    if (theme.value === 'system') localStorage.removeItem(keptName);
    else localStorage.setItem(keptName, theme.value);
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => (themeChanges.value += 1));
}

function keptTheme(): Theme {
  const kept = localStorage.getItem(keptName);
  return themes.find((name) => name === kept) ?? 'system';
}
