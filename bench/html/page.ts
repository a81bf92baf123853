// The page of --html: what was run on what, the tables and the plots, in one file that asks no other host for anything.

import type { Machine } from '../machine.ts';
import type { Row, Series } from '../results.ts';
import { formatted, targetText, verdict } from '../results.ts';
import { escaped } from './escape.ts';
import { plot } from './plot.ts';

export interface PageInput {
  readonly heading: string;
  readonly machine: Machine;
  readonly rows: readonly Row[];
  readonly series: readonly Series[];
}

export function page({ heading, machine, rows, series }: PageInput): string {
  const isCost = ({ what }: Row) => what.startsWith('cost: ');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(heading)}</title>
<style>${style}</style>
</head>
<body>
<h1>${escaped(heading)}</h1>
${machineTable(machine)}
<h2>Measured, and aimed at</h2>
${table(rows.filter((row) => !isCost(row)))}
<h2>Processor time by thread</h2>
${table(rows.filter(isCost))}
<h2>Over time</h2>
${[...Map.groupBy(series, (one) => one.plot).values()].map(plot).join('\n')}
</body>
</html>
`;
}

function machineTable(machine: Machine): string {
  const lines = Object.entries(machine).map(
    ([name, value]) => `<tr><th scope="row">${escaped(name)}</th><td>${escaped(value)}</td></tr>`,
  );
  return `<table class="machine">${lines.join('')}</table>`;
}

function table(rows: readonly Row[]): string {
  const lines = rows.map((row) => {
    const said = verdict(row);
    const values = row.values.length > 1 ? row.values.map(formatted).join(', ') : '';
    const cells = [`${formatted(row.value)} ${row.unit}`, values, targetText(row)].map(
      (text) => `<td>${escaped(text)}</td>`,
    );
    return `<tr><th scope="row">${escaped(row.what)}</th>${cells.join('')}<td class="${said === 'MISSED' ? 'missed' : 'met'}">${said}</td></tr>`;
  });
  const head = ['', 'measured', 'each run', 'target', ''].map((text) => `<th scope="col">${text}</th>`).join('');
  return `<div class="wide"><table><thead><tr>${head}</tr></thead><tbody>${lines.join('\n')}</tbody></table></div>`;
}

/** Okabe and Ito's colours, which most people tell apart, lighter where the ground is dark. */
const style = `
:root { color-scheme: light dark; --ground: #fff; --ink: #1d1d1f; --faint: #6e6e73; --rule: #d9d9de; --missed: #b3261e; --met: #1a7f37;
  --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #cc79a7; --c4: #8a6d00; --c5: #56b4e9; }
@media (prefers-color-scheme: dark) { :root { --ground: #17171a; --ink: #ececf0; --faint: #9a9aa2; --rule: #38383f; --missed: #ff8a80; --met: #6fdd8b;
  --c0: #56b4e9; --c1: #ff9e4a; --c2: #3ddbaa; --c3: #f0a5cd; --c4: #f0e442; --c5: #8fc7ff; } }
body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; background: var(--ground); color: var(--ink); font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: 0.25rem 0.6rem; border-bottom: 1px solid var(--rule); text-align: right; white-space: nowrap; }
th[scope="row"] { text-align: left; font-weight: normal; white-space: normal; }
th[scope="col"] { color: var(--faint); font-weight: normal; }
.machine td { text-align: left; white-space: normal; } .machine th { color: var(--faint); width: 9rem; }
.missed { color: var(--missed); font-weight: 600; } .met { color: var(--met); }
figure { margin: 1.5rem 0; } figcaption { font-weight: 600; }
svg { width: 100%; height: auto; } .grid { stroke: var(--rule); stroke-width: 1; } .tick { fill: var(--faint); font-size: 11px; }
.line { fill: none; stroke-width: 1.8; stroke-linejoin: round; }
.legend { margin: 0; color: var(--faint); } .key { margin-right: 1.2rem; white-space: nowrap; }
.key::before { content: ''; display: inline-block; width: 1.2rem; height: 3px; margin-right: 0.4rem; vertical-align: middle; background: currentColor; }
${[0, 1, 2, 3, 4, 5].map((nth) => `.line.c${nth} { stroke: var(--c${nth}); } .key.c${nth}::before { background: var(--c${nth}); }`).join('\n')}
`;
