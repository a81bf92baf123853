// The focus of whoever works by keys stays where it was when what had it goes: a row that is taken away, a button that rests while its call is under way.

interface Place {
  readonly element: HTMLElement;
  /** What it stood in, the nearest first: it has none any more once it is gone. */
  readonly around: readonly HTMLElement[];
}

/** Until the page ends. */
export function keepFocus(): void {
  let last: Place | null = null;
  let rests = false;
  document.addEventListener('focusin', ({ target }) => {
    if (!(target instanceof HTMLElement)) return;
    last = { element: target, around: ancestorsOf(target) };
    rests = false;
  });
  // Whoever clicks beside everything wants no focus.
  document.addEventListener('pointerdown', () => void (rests = false));
  const look = () => {
    if (last === null || (document.activeElement !== document.body && document.activeElement !== null)) {
      if (last !== null && document.activeElement === last.element) rests = last.element.matches(':disabled');
      return;
    }
    const { element, around } = last;
    if (!element.isConnected) focusOn(around.find((each) => each.isConnected && each.matches(places)));
    else if (element.matches(':disabled')) rests = true;
    else if (rests) element.focus({ preventScroll: true });
  };
  new MutationObserver(look).observe(document.body, {
    childList: true,
    subtree: true,
    attributes: true,
    attributeFilter: ['disabled'],
  });
}

/** Where somebody can go on from. */
const places = '[tabindex], section, form, dialog, main';

function focusOn(place: HTMLElement | undefined): void {
  if (place === undefined) return;
  if (!place.hasAttribute('tabindex')) place.tabIndex = -1;
  place.focus({ preventScroll: true });
}

function ancestorsOf(element: HTMLElement): HTMLElement[] {
  const around: HTMLElement[] = [];
  for (let at = element.parentElement; at !== null; at = at.parentElement) around.push(at);
  return around;
}
