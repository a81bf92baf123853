// The path of a field as its caller is told of it: names that he made up are cut, each may have 256 KiB.

const nameCharactersMax = 200;

export function shownName(name: string): string {
  return name.slice(0, nameCharactersMax);
}

/** @param path of what has the field; empty: the body */
export function fieldPath(path: string, name: string): string {
  return path === '' ? shownName(name) : `${path}.${shownName(name)}`;
}
