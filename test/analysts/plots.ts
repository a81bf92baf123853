// The plots of docs/analysts.md as SVG, of the rows that its queries give: bars, and lines over labels.

export interface Bar {
  readonly label: string;
  /** One for each of the plot's parts. */
  readonly values: readonly number[];
}

export interface Line {
  readonly name: string;
  /** By the plot's labels; null: nothing there. */
  readonly values: readonly (number | null)[];
}

const width = 720;
const left = 150;
const right = 24;
const colors = ['#2563eb', '#d97706', '#059669', '#7c3aed'];
const ink = '#1f2937';
const faint = '#e5e7eb';

/** Bars side by side for each label, from nothing to the greatest value. */
export function barPlot(title: string, parts: readonly string[], bars: readonly Bar[]): string {
  const rowHeight = 18 * parts.length + 14;
  const top = 70;
  const height = top + rowHeight * bars.length + 16;
  const max = Math.max(...bars.flatMap(({ values }) => values));
  const x = scale(0, max, left, width - right - 60);
  const rows = bars.flatMap(({ label, values }, row) => {
    const y = top + row * rowHeight;
    const drawn = values.flatMap((value, part) => {
      const at = y + part * 18;
      return [
        `<rect x="${left}" y="${at}" width="${round(x(value) - left)}" height="14" rx="2" fill="${colorOf(part)}"/>`,
        text(x(value) + 6, at + 11, String(value)),
      ];
    });
    return [text(left - 10, y + 9 * parts.length + 2, label, 'end'), ...drawn];
  });
  return svg(height, title, [...legend(parts), ...rows]);
}

/** Values from 0 to 100 over labels in their order. */
export function percentPlot(title: string, labels: readonly string[], lines: readonly Line[]): string {
  const [top, height] = [70, 320];
  const bottom = height - 40;
  const begin = 60;
  const x = scale(0, labels.length - 1, begin, width - right - 20);
  const y = scale(0, 100, bottom, top);
  const grid = [0, 25, 50, 75, 100].flatMap((percent) => [
    `<line x1="${begin}" x2="${width - right}" y1="${round(y(percent))}" y2="${round(y(percent))}" stroke="${faint}"/>`,
    text(begin - 8, y(percent) + 4, `${percent} %`, 'end'),
  ]);
  const names = labels.map((label, i) => text(x(i), bottom + 20, label, 'middle'));
  const drawn = lines.flatMap(({ values }, nth) => {
    const points = values.flatMap((value, i) => (value === null ? [] : [`${round(x(i))},${round(y(value))}`]));
    const dots = points.map((point) => {
      const [cx = '', cy = ''] = point.split(',');
      return `<circle cx="${cx}" cy="${cy}" r="3.5" fill="${colorOf(nth)}"/>`;
    });
    return [`<polyline points="${points.join(' ')}" fill="none" stroke="${colorOf(nth)}" stroke-width="2"/>`, ...dots];
  });
  return svg(height, title, [...legend(lines.map(({ name }) => name)), ...grid, ...names, ...drawn]);
}

function svg(height: number, title: string, parts: readonly string[]): string {
  const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="12" fill="${ink}" role="img">`;
  const ground = `<rect width="${width}" height="${height}" fill="#fff"/>`;
  const heading = `<text x="20" y="26" font-size="15" font-weight="600">${escaped(title)}</text>`;
  return [head, `<title>${escaped(title)}</title>`, ground, heading, ...parts, '</svg>', ''].join('\n');
}

function legend(names: readonly string[]): readonly string[] {
  return names.flatMap((name, i) => [
    `<rect x="${20 + i * 120}" y="40" width="12" height="12" rx="2" fill="${colorOf(i)}"/>`,
    text(38 + i * 120, 50, name),
  ]);
}

function text(x: number, y: number, content: string, anchor: 'start' | 'middle' | 'end' = 'start'): string {
  return `<text x="${round(x)}" y="${round(y)}" text-anchor="${anchor}">${escaped(content)}</text>`;
}

function scale(from: number, to: number, begin: number, end: number): (value: number) => number {
  return (value) => begin + ((value - from) / (to - from || 1)) * (end - begin);
}

function colorOf(nth: number): string {
  return colors[nth % colors.length] ?? ink;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escaped(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
