// The memory allocator that a service starts with: glibc's own settings on Linux, an operator's where there are some.

import { describe, expect, it } from '@jest/globals';
import { fileURLToPath } from 'node:url';

type Env = Readonly<Record<string, string>>;
interface MemoryAllocator {
  givesMemoryBack(of: { platform: string; env: Env; execve: (() => never) | undefined }): Env | null;
}

const file = fileURLToPath(new URL('../../bin/memory-allocator.js', import.meta.url));
const { givesMemoryBack } = (await import(file)) as MemoryAllocator;

const execve = () => {
  throw new Error('not called');
};
const linux = { platform: 'linux', env: { PORT: '8080' }, execve };

describe('the memory allocator of a service', () => {
  it('gives back on Linux what is free, and keeps the rest of the environment', () => {
    expect(givesMemoryBack(linux)).toEqual({
      PORT: '8080',
      MALLOC_ARENA_MAX: '2',
      MALLOC_MMAP_THRESHOLD_: '65536',
      MALLOC_TRIM_THRESHOLD_: '131072',
    });
  });

  it('is set once: what started again with it goes on', () => {
    expect(givesMemoryBack({ ...linux, env: givesMemoryBack(linux) ?? {} })).toBeNull();
  });

  it('is left as an operator has set it', () => {
    expect(givesMemoryBack({ ...linux, env: { MALLOC_ARENA_MAX: '8' } })).toBeNull();
  });

  it('is left alone on other systems, and where a process can not go on as another', () => {
    expect(givesMemoryBack({ ...linux, platform: 'darwin' })).toBeNull();
    expect(givesMemoryBack({ ...linux, execve: undefined })).toBeNull();
  });
});
