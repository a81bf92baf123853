// A turn of the event loop: however fast a body comes, everybody else has one between two pieces of what it brings.

export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
