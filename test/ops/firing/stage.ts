// What a service that is made to fail needs around it: folders, processes, receivers, all of them gone with the test.

import type { DataDir, Environment, Herald } from '../../support/herald.ts';
import { makeDataDir, startHerald } from '../../support/herald.ts';
import type { HttpSink, Respond } from '../../support/http-sink.ts';
import { startHttpSink } from '../../support/http-sink.ts';
import { until } from '../../support/until.ts';
import type { Page } from './scrape.ts';
import { scrape } from './scrape.ts';
import type { Seen } from './series.ts';

/** One way to fail, and all that fires then. */
export interface Failure {
  readonly what: string;
  readonly fires: readonly string[];
  /** It is about processor time: others at once would take it away. */
  readonly isAlone?: true;
  run(stage: Stage): Promise<Seen>;
}

export interface Stage {
  folder(): Promise<DataDir>;
  /** Its own folder unless one is given. */
  start(options?: {
    readonly dataDir?: DataDir;
    readonly environment?: Environment;
    readonly args?: readonly string[];
  }): Promise<Herald>;
  sink(respond?: Respond): Promise<HttpSink>;
  /** The last comes first. */
  atEnd(end: () => unknown): void;
}

/** Runs the failure and takes down whatever it put up. */
export async function staged(failure: Failure, engines: 'embedded' | 'real'): Promise<Seen> {
  const ends: (() => unknown)[] = [];
  const stage: Stage = {
    atEnd: (end) => void ends.unshift(end),
    async folder() {
      const dataDir = await makeDataDir(engines);
      stage.atEnd(() => dataDir.remove());
      return dataDir;
    },
    async start({ dataDir, environment = {}, args = [] } = {}) {
      const service = await startHerald(dataDir ?? (await stage.folder()), environment, args);
      stage.atEnd(() => service.kill());
      return service;
    },
    async sink(respond) {
      const sink = await startHttpSink(respond === undefined ? {} : { respond });
      stage.atEnd(() => sink.close());
      return sink;
    },
  };
  try {
    return await failure.run(stage);
  } finally {
    for (const end of ends) await end();
  }
}

/** Scrapes until the page is so: a failure takes the time that it takes. @param meanwhile what makes it so, before each look */
export async function scraped(
  service: Herald,
  isSo: (page: Page) => boolean,
  what: string,
  meanwhile: () => unknown = () => undefined,
): Promise<Page> {
  return until(
    async () => {
      await meanwhile();
      const page = await scrape(service);
      return isSo(page) && page;
    },
    { timeoutMs: 150_000, everyMs: 200, what },
  );
}

/** A process whose clock is behind: what it accepts is so much older for the next one. */
export function inThePast(seconds: number): Environment {
  const code = `const now=Date.now;Date.now=()=>now()-${seconds * 1000}`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` };
}
