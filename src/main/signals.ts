// What tells a process to stop.

/** The first of SIGTERM and SIGINT; any after it change nothing, since npm and a terminal both send a second one. */
export function firstSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const name of ['SIGTERM', 'SIGINT']) process.on(name, () => resolve(name));
  });
}
