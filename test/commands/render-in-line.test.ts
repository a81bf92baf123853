// Rendering in line: a few of a tenant at once, the others in their order, whatever becomes of those before them; and no tenant waits for another.

import { describe, expect, it } from '@jest/globals';

import { inLineMax, renderingInLine } from '../../src/commands/render-in-line.ts';
import type { RenderedTemplate, TemplateRenderer } from '../../src/ports/template-renderer.ts';

const rendered = (body: string): RenderedTemplate => ({ subject: null, body, bodyFormat: 'text' });

/** What begins is ended by the test; a source of `plain` is rendered at once, one of `wrong` is refused at once. */
function createHeldRenderer() {
  const begun: { readonly body: string; readonly ended: PromiseWithResolvers<RenderedTemplate> }[] = [];
  const renderer: Pick<TemplateRenderer, 'render'> = {
    render({ body }) {
      if (body === 'wrong') throw new Error('it is wrong');
      if (body === 'plain') return rendered(body);
      const ended = Promise.withResolvers<RenderedTemplate>();
      begun.push({ body, ended });
      return ended.promise;
    },
  };
  const end = async (of: number) => {
    const { body, ended } = begun[of] ?? { body: '', ended: Promise.withResolvers<RenderedTemplate>() };
    if (body.startsWith('fails')) ended.reject(new Error('it failed'));
    else ended.resolve(rendered(body));
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { begun: () => begun.map(({ body }) => body), end, renderer: renderingInLine(renderer) };
}

describe('rendering in line', () => {
  it('has a few of a tenant with the renderer at once, and the others in their order', async () => {
    const { begun, end, renderer } = createHeldRenderer();
    const render = (body: string, owner = 'a') =>
      Promise.resolve(renderer.render({ subject: null, body }, {}, { isEmail: false, owner }));
    const names = Array.from({ length: inLineMax + 3 }, (_, i) => (i === 1 ? 'fails' : `${i}`));
    const all = Promise.allSettled(names.map((name) => render(name)));
    expect(begun()).toEqual(names.slice(0, inLineMax));
    await end(1);
    expect(begun()).toEqual(names.slice(0, inLineMax + 1));
    void render('of another', 'b');
    expect(begun().at(-1)).toBe('of another');
    for (const i of [0, 2, 3, 4, 6, 7]) await end(i);
    expect((await all).map(({ status }) => status)).toEqual(
      names.map((name) => (name === 'fails' ? 'rejected' : 'fulfilled')),
    );
  });

  it('renders at once what takes no thread, and lets nobody wait behind what is refused', async () => {
    const { begun, end, renderer } = createHeldRenderer();
    const render = (body: string) => renderer.render({ subject: null, body }, {}, { isEmail: false, owner: 'a' });
    expect(render('plain')).toEqual(rendered('plain'));
    expect(() => render('wrong')).toThrow('it is wrong');
    const held = Array.from({ length: inLineMax }, (_, i) => render(`${i}`));
    const behind = [render('wrong'), render('plain'), render('last')].map((one) => Promise.resolve(one));
    const settled = Promise.allSettled(behind);
    await end(0);
    expect(begun().at(-1)).toBe('last');
    for (let i = 1; i <= inLineMax; i++) await end(i);
    expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
    await Promise.all(held.map((one) => Promise.resolve(one)));
    expect(render('plain')).toEqual(rendered('plain'));
  });
});
