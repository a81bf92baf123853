// What is kept of an answer holds no secret and no more than 1 KiB.

import { describe, expect, it } from '@jest/globals';

import { kept } from '../../src/channels/redact.ts';
import fc from '../support/properties.ts';
import { cpuMsSince, threadCpuMsMax } from '../support/thread-cpu.ts';

const secret = fc
  .string({ unit: 'grapheme-ascii', minLength: 8, maxLength: 80 })
  .filter((text) => text.trim() === text);
const around = fc.string({ unit: 'grapheme-ascii', maxLength: 30 });

describe('what is kept of an answer', () => {
  it('has no secret in the forms in which a receiver may say it back', () => {
    const encodings: ((text: string) => string)[] = [
      (text) => text,
      (text) => Buffer.from(text).toString('base64'),
      (text) => Buffer.from(text).toString('base64url'),
      encodeURIComponent,
      (text) => new URLSearchParams({ x: text }).toString(),
      (text) => JSON.stringify({ x: text }),
    ];
    fc.assert(
      fc.property(secret, around, around, fc.constantFrom(...encodings), (key, before, after, encode) => {
        const text = kept(`${before} ${encode(key)} ${after}`, [key]);
        expect(text).toContain('[secret]');
        const bare = encode(key).replace(/^x=|^\{"x":"|"\}$/g, '');
        expect(text.split('[secret]').join('\n')).not.toContain(bare);
      }),
    );
  });

  it('has nothing of a secret inside the base64 of a login', () => {
    fc.assert(
      fc.property(secret, around, (key, user) => {
        for (const login of [`${user}:${key}`, `\0${user}\0${key}`]) {
          const text = kept(Buffer.from(login).toString('base64'), [key]);
          const [head = '', tail = ''] = text.split('[secret]');
          expect(text).toContain('[secret]');
          // What stands beside it is the user's, and the bits of two characters at most.
          expect(Buffer.from(head, 'base64').toString('latin1').length).toBeLessThanOrEqual(login.length - key.length);
          expect(tail.length).toBeLessThanOrEqual(4);
        }
      }),
    );
  });

  it('cuts a whsec_ secret without its prefix, and escaped slashes', () => {
    const bytes = 'ab/cd+ef/ghijklmnopqrstuvwxyz012345678901234';
    expect(kept(`key ${bytes} or ${bytes.replaceAll('/', '\\/')}`, [`whsec_${bytes}`])).toBe(
      'key [secret] or [secret]',
    );
  });

  it('is at most 1 KiB, in whole characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 400, maxLength: 3_000 }), (text) => {
        const result = kept(text, []);
        expect(Buffer.byteLength(result)).toBeLessThanOrEqual(1_024);
        if (text.isWellFormed()) expect(result.isWellFormed()).toBe(true);
      }),
    );
    expect(kept('x'.repeat(5_000), [])).toHaveLength(1_024);
  });

  it('has no part of a secret at the place where the answer is cut', () => {
    const key = 'k'.repeat(30).concat('0123456789');
    for (let before = 8_130; before < 8_200; before++) {
      expect(kept(`${' '.repeat(before)}${key}`, [key])).not.toMatch(/kkk/);
    }
  });

  it('is one line without control characters', () => {
    expect(kept('a\r\nb\u0000\u001b[31mc\t d', [])).toBe('a b [31mc d');
  });

  it('has no secret of a few characters where it stands by itself, in whichever form', () => {
    const short = fc.stringMatching(/^[a-z0-9!$_.]{0,5}[a-z0-9][a-z0-9!$_.]?$/);
    const said: ((key: string) => string)[] = [
      (key) => `login with ${key} failed`,
      (key) => `{"password":"${key}"}`,
      // No word beside it that a secret may be as well.
      (key) => `https://mailserver.invalid/?username=somebody&password=${encodeURIComponent(key)}&language`,
      (key) => `key%3A${encodeURIComponent(key)}`,
      (key) => `"line\\n${key}"`,
      (key) => Buffer.from(`user:${key}`).toString('base64'),
      (key) => Buffer.from(`\0user\0${key}`).toString('base64url'),
    ];
    fc.assert(
      fc.property(short, fc.constantFrom(...said), (key, say) => {
        const text = kept(say(key), [key]);
        expect(text).toContain('[secret]');
        expect(text.length).toBeLessThan(say(key).length + '[secret]'.length);
      }),
    );
  });

  it('keeps its words where a secret of a few characters is part of them', () => {
    const answer = 'Authentication failed: a sender at example.com is not allowed (5.7.1 test-server).';
    for (const secret of ['e', 'at', 'ten', 'ample', 'secret', '.', '-', ' ']) {
      const text = kept(answer, [secret]);
      expect(text.replaceAll('[secret]', secret)).toBe(answer);
      expect(text.split('[secret]').length - 1).toBe(secret === 'at' ? 1 : 0);
    }
    expect(kept('the secret is secret', ['secret', 'is'])).toBe('the [secret] [secret] [secret]');
  });

  it('takes no longer for an answer that is made for it', () => {
    const before = process.threadCpuUsage();
    for (const answer of ['a:'.repeat(4096), Buffer.from(':'.repeat(6000)).toString('base64'), '%3A'.repeat(3000)])
      for (const secret of [':', 'a:', 'a', '%3A']) kept(answer, [secret, 'k'.repeat(40)]);
    expect(cpuMsSince(before)).toBeLessThan(threadCpuMsMax);
  });

  it('is not touched by an empty secret', () => {
    expect(kept('nothing to hide', ['', ''])).toBe('nothing to hide');
  });
});
