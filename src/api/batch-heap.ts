// A heap of a batch: what is gathered until it is full, by its number or its bytes.

export function createHeap<T>(itemsMax: number, bytesMax: number) {
  let items: T[] = [];
  let weight = 0;
  let bytes = 0;
  return {
    add(item: T, itemBytes: number, itemWeight = 1): void {
      items.push(item);
      weight += itemWeight;
      bytes += itemBytes;
    },
    isFull: (part: number) => weight >= itemsMax * part || bytes >= bytesMax * part,
    takeAll(): readonly T[] {
      const taken = items;
      items = [];
      weight = 0;
      bytes = 0;
      return taken;
    },
  };
}
