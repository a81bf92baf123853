// CPU profiles of every thread of a process during a part: taken through its inspector, which it opens only when the run asks for profiles.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Measured } from './cost.ts';
import { createInspector } from './inspector.ts';
import type { ProfiledThread } from './inspector.ts';
import { moduleTable } from './profile-table.ts';

export interface Profiles {
  /** Whether processes have to be started with an inspector. */
  readonly areTaken: boolean;
  begin(measured: Measured): Promise<{ end(): Promise<void> }>;
}

export const noProfiles: Profiles = {
  areTaken: false,
  begin: () => Promise.resolve({ end: () => Promise.resolve() }),
};

/**
 * Keeps them in the folder, as `.cpuprofile` files that Chrome and editors open.
 * @param tell is given each table by module
 */
export function createProfiles(folder: string, tell: (text: string) => void): Profiles {
  const taken = new Map<string, number>();
  return {
    areTaken: true,
    async begin({ inspectorUrl, name }) {
      if (inspectorUrl === null) return noProfiles.begin({ pid: 0, inspectorUrl, name });
      const inspector = await createInspector(inspectorUrl);
      await inspector.startProfiles();
      return {
        async end() {
          const threads = await inspector.stopProfiles();
          inspector.close();
          const nth = (taken.get(name) ?? 0) + 1;
          taken.set(name, nth);
          await mkdir(folder, { recursive: true });
          for (const thread of threads) await keep(thread, `${name} ${nth}`);
        },
      };
    },
  };

  async function keep({ thread, profile }: ProfiledThread, of: string): Promise<void> {
    const file = join(folder, `${of} ${thread}.cpuprofile`.replaceAll(/[^\w.]+/g, '-'));
    await writeFile(file, JSON.stringify(profile));
    tell(`profile: ${of}, thread ${thread}: ${file}\n${moduleTable(profile)}`);
  }
}
