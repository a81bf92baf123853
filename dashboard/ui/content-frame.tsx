// The HTML of a notification, shown and inert: in a frame whose own policy lets nothing run, load or lead anywhere. What would is taken out before, too.

import { useEffect, useRef } from 'preact/hooks';

import { withoutLoading } from '../html.ts';

export function ContentFrame({ html }: { readonly html: string }) {
  const frame = useRef<HTMLIFrameElement>(null);
  const fill = () => {
    const inside = frame.current?.contentDocument;
    // Before its page is there the frame has an empty one, of the policy of this page; while it comes there may be nothing in it to be replaced.
    if (inside?.defaultView == null || inside.URL !== frame.current?.src || inside.readyState === 'loading') return;
    // By the frame's own parser, whose documents are under the frame's policy: under the page's a mail would lose its styles.
    const parsed = new inside.defaultView.DOMParser().parseFromString(html, 'text/html');
    inside.documentElement.replaceWith(inside.adoptNode(inert(parsed)));
  };
  useEffect(fill, [html]);
  return (
    <iframe
      ref={frame}
      class="content-frame"
      title="Content as its receiver sees it"
      src="dashboard/content"
      // Of this origin, so that it can be filled from here; without allow-scripts nothing in it reaches out.
      sandbox="allow-same-origin"
      referrerpolicy="no-referrer"
      onLoad={fill}
    />
  );
}

/** What loads, leads or asks. The frame's policy refuses all of it as well. */
const taken = 'script, meta, base, link, iframe, frame, frameset, object, embed, applet, portal, fencedframe';
const leading = ['href', 'xlink:href', 'action', 'formaction', 'ping', 'background', 'srcset', 'target'];

function inert(parsed: Document): HTMLElement {
  for (const element of parsed.querySelectorAll(taken)) element.remove();
  for (const style of parsed.querySelectorAll('style')) style.textContent = withoutLoading(style.textContent);
  for (const element of parsed.querySelectorAll('*')) {
    const style = element.getAttribute('style');
    if (style !== null) element.setAttribute('style', withoutLoading(style));
    const link = element.getAttribute('href');
    if (link !== null && element.localName === 'a') element.setAttribute('title', link);
    for (const name of leading) element.removeAttribute(name);
    for (const name of element.getAttributeNames()) if (name.startsWith('on')) element.removeAttribute(name);
    const source = element.getAttribute('src');
    if (source !== null && !source.startsWith('data:image/')) element.removeAttribute('src');
  }
  return parsed.documentElement;
}
