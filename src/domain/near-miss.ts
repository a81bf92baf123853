// What somebody meant who wrote a name of a short list in another way: `in-app` for IN_APP, `chanel` for channel.

/** Longer ones are no slip of the fingers, and aren't even looked at. */
const lengthMax = 64;

/** The one of the names that is nearest, where one is near; null: none is, or two are alike near. */
export function nearMiss(written: string, names: readonly string[]): string | null {
  if (written.length > lengthMax) return null;
  const plain = plainOf(written);
  let nearest: string | null = null;
  let least = Infinity;
  for (const name of names) {
    const most = slipsMax(name);
    // The distance costs the product of both lengths.
    if (Math.abs(plain.length - name.length) > most + 2) continue;
    const slips = distance(plain, plainOf(name));
    if (slips > most) continue;
    if (slips < least) [nearest, least] = [name, slips];
    else if (slips === least) nearest = null;
  }
  return nearest;
}

/** One letter in three: SMS has one, recipient three. */
function slipsMax(name: string): number {
  return Math.floor(name.length / 3);
}

function plainOf(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '');
}

/** Letters to leave out, put in, replace or (two neighbours) exchange. */
function distance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, i) => i)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const changed = a[i - 1] === b[j - 1] ? 0 : 1;
      const exchanged = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(
        Math.min(
          (rows[i - 1]?.[j] ?? 0) + 1,
          (row[j - 1] ?? 0) + 1,
          (rows[i - 1]?.[j - 1] ?? 0) + changed,
          exchanged ? (rows[i - 2]?.[j - 2] ?? 0) + 1 : Infinity,
        ),
      );
    }
    rows.push(row);
  }
  return rows[a.length]?.[b.length] ?? Infinity;
}
