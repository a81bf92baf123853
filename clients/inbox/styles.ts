// How it looks: custom properties and parts are the page's to set, all else is closed in; light or dark as the page is (`color-scheme`). A sheet of its own and
// no style element, so that a strict Content-Security-Policy of the page lets it through.

export const css = `
:host {
  --_accent: var(--herald-accent, light-dark(#2454d6, #8fb0ff));
  --_on-accent: var(--herald-on-accent, light-dark(#fff, #0c1530));
  --_surface: var(--herald-surface, light-dark(#fff, #1b1d22));
  --_text: var(--herald-text, light-dark(#1b1d22, #eceef2));
  --_muted: var(--herald-muted, light-dark(#5a6070, #a6acba));
  --_line: var(--herald-line, light-dark(#e1e4ea, #343842));
  --_unread: var(--herald-unread, light-dark(#f2f5fe, #232a3d));
  --_radius: var(--herald-radius, 10px);
  position: relative;
  display: inline-block;
}
:host([theme='light']) { color-scheme: light; }
:host([theme='dark']) { color-scheme: dark; }
[hidden], :host([hidden]) { display: none !important; }
* { box-sizing: border-box; }
button { font: inherit; color: inherit; background: none; border: 0; padding: 0; cursor: pointer; }
:focus-visible { outline: 2px solid var(--_accent); outline-offset: 2px; border-radius: 4px; }
.bell { position: relative; display: grid; place-items: center; width: 2.5rem; height: 2.5rem; border-radius: 50%; color: var(--herald-bell, inherit); }
.bell:hover { background: color-mix(in srgb, currentColor 10%, transparent); }
.bell svg { width: 1.375rem; height: 1.375rem; }
.badge {
  position: absolute; inset-block-start: -0.125rem; inset-inline-start: 1.25rem; min-width: 1.25rem; padding: 0 0.3rem;
  border-radius: 1rem; background: var(--_accent); color: var(--_on-accent);
  font: 600 0.75rem/1.25rem system-ui, sans-serif; text-align: center; font-variant-numeric: tabular-nums;
}
.panel {
  position: absolute; inset-block-start: calc(100% + 0.5rem); inset-inline-end: 0; z-index: var(--herald-z-index, 1000);
  display: flex; flex-direction: column; width: var(--herald-width, 24rem); max-width: calc(100vw - 1.5rem);
  max-height: var(--herald-height, min(36rem, 80vh)); overflow: hidden; text-align: start;
  font: var(--herald-font, 400 0.9375rem/1.45 system-ui, sans-serif); translate: var(--_shift, 0);
  background: var(--_surface); color: var(--_text); border: 1px solid var(--_line); border-radius: var(--_radius);
  box-shadow: var(--herald-shadow, 0 12px 32px rgb(0 0 0 / 18%));
}
:host([align='start']) .panel { inset-inline: 0 auto; }
.head { display: flex; align-items: center; gap: 0.75rem; padding: 0.75rem 1rem; border-block-end: 1px solid var(--_line); }
.head h2 { flex: 1; margin: 0; font-size: 1rem; font-weight: 650; }
.text { color: var(--_accent); font-size: 0.875rem; }
.text:hover { text-decoration: underline; }
.close { display: grid; place-items: center; width: 1.75rem; height: 1.75rem; }
.state { margin: 0; padding: 0.5rem 1rem; color: var(--_muted); font-size: 0.875rem; }
.list { flex: 1; margin: 0; padding: 0; overflow-y: auto; overscroll-behavior: contain; list-style: none; }
.item { display: grid; grid-template-columns: 1fr auto; gap: 0.125rem 0.75rem; padding: 0.75rem 1rem; border-block-end: 1px solid var(--_line); content-visibility: auto; contain-intrinsic-size: auto 5rem; }
.item.unread { background: var(--_unread); }
.title { margin: 0; font-weight: 600; font-size: inherit; overflow-wrap: anywhere; unicode-bidi: isolate; }
.title a { color: var(--_accent); }
.body { grid-column: 1 / -1; margin: 0; max-height: 12rem; overflow: hidden; white-space: pre-line; overflow-wrap: anywhere; unicode-bidi: isolate; }
.time { color: var(--_muted); font-size: 0.8125rem; white-space: nowrap; }
.item .text { grid-column: 1 / -1; justify-self: start; }
.more { padding: 0.75rem 1rem; border-block-start: 1px solid var(--_line); text-align: center; }
.seen-by-ear { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
@media (prefers-contrast: more) { .item.unread { outline: 1px solid var(--_accent); outline-offset: -1px; } }
@media (forced-colors: active) { .badge, .panel { border: 1px solid; } }
`;
