// Lets the event loop have its turn: a loop whose events are there already would never let go of it.

export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
