// What tells a process to stop.

/** SIGHUP: its terminal has gone. SIGQUIT, where there is one: else Node would leave an image of its memory, with the texts and secrets in it. */
const toldBy = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const;

/** The first of them; any after it change nothing, since npm and a terminal both send a second one. */
export function firstSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const name of toldBy) process.on(name, () => resolve(name));
  });
}
