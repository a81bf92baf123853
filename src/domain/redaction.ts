// What is kept of a receiver's answer: at most 1 KiB of plain text, with every secret cut out in every form in which it may come back.

const keptBytesMax = 1_024;
/** How much of an answer is looked at to keep 1 KiB of it. */
const readMax = 8_192;
const replacement = '[secret]';
/** Shorter ones are found in ordinary words as well. */
const longMin = 8;

/**
 * The text as it may be stored and shown: secrets replaced by `[secret]`, control characters and runs of white space by one space.
 * For failures; what succeeds keeps nothing of an answer but an id.
 */
export function kept(text: string, secrets: readonly string[]): string {
  const forms = formsOf(secrets.filter((secret) => secret.length >= longMin));
  let window = text.slice(0, readMax);
  for (const form of forms) window = window.replaceAll(form, replacement);
  window = withoutShort(window, formsOf(secrets.filter((secret) => secret.length < longMin)));
  // The end of the window may hold the beginning of a secret, which no form matches.
  if (text.length > readMax) window = window.slice(0, Math.max(0, window.length - (forms[0]?.length ?? 0)));
  return cut(window.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim());
}

/** The longest first, so that no form is broken up by a shorter one inside it. */
function formsOf(secrets: readonly string[]): string[] {
  const forms = new Set<string>();
  for (const secret of secrets) {
    if (secret === '') continue;
    addForms(forms, secret);
    if (secret.startsWith('whsec_')) addForms(forms, secret.slice('whsec_'.length));
  }
  return [...forms].filter((form) => form !== '').sort((a, b) => b.length - a.length);
}

function addForms(forms: Set<string>, secret: string): void {
  const percent = encodeURIComponent(secret.toWellFormed());
  const json = JSON.stringify(secret).slice(1, -1);
  forms.add(secret);
  forms.add(percent);
  forms.add(percent.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()));
  forms.add(new URLSearchParams([['', secret]]).toString().slice(1));
  forms.add(json);
  forms.add(json.replaceAll('/', '\\/'));
  for (const encoded of base64Forms(secret)) {
    forms.add(encoded);
    forms.add(encoded.replaceAll('+', '-').replaceAll('/', '_'));
  }
}

/** Shorter middles of base64 say too little and would be found everywhere. */
const base64MiddleMin = 6;

/**
 * The secret as base64 of its own, and as it shows in the base64 of a longer text (`user:secret`, `\0user\0secret`): three alignments,
 * of each the characters that stand for bits of the secret alone.
 */
function base64Forms(secret: string): string[] {
  const bytes = Buffer.from(secret, 'utf8');
  const forms = [bytes.toString('base64')];
  for (const shift of [0, 1, 2]) {
    const encoded = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64');
    const firstWhole = Math.ceil((shift * 8) / 6);
    const lastWhole = Math.floor(((shift + bytes.length) * 8) / 6);
    const middle = encoded.slice(firstWhole, lastWhole);
    if (middle.length >= base64MiddleMin) forms.push(middle);
  }
  return forms;
}

/**
 * Of a short secret only what stands by itself: `a` is cut out of `user:a` and of the base64 of a login, and no word loses its letters (which would
 * destroy the answer, and say what the secret is).
 */
function withoutShort(text: string, forms: readonly string[]): string {
  if (forms.length === 0) return text;
  const alone = forms.map(standingAlone).join('|');
  const pattern = new RegExp(alone, 'gu');
  const isLogin = (encoded: string): boolean => {
    const login = Buffer.from(encoded, 'base64').toString('utf8');
    return /[:\0]/.test(login) && !noText.test(login) && login.search(pattern) >= 0;
  };
  return text
    .replaceAll(base64Text, (encoded) => (isLogin(encoded) ? replacement : encoded))
    .replaceAll(new RegExp(`${literal(replacement)}|${alone}`, 'gu'), replacement);
}

/** Of `a:b` on. What is a word decodes to no text. */
const base64Text = /[\w+/-]{4,}={0,2}/g;
const noText = /\ufffd|(?!\0)\p{Cc}/u;

const escapeBefore = String.raw`(?<=%[0-9A-Fa-f]{2}|\\[bfnrt]|\\u[0-9A-Fa-f]{4})`;

/** Beside a letter or a digit of it stands none; signs alone stand between blanks, quotes and what separates fields. */
function standingAlone(form: string): string {
  const hasLetters = /[\p{L}\p{N}]/u.test(form);
  const freeBefore = hasLetters ? String.raw`(?:(?<![\p{L}\p{N}])|${escapeBefore})` : String.raw`(?<=^|[\s"':=])`;
  const freeBehind = hasLetters ? String.raw`(?![\p{L}\p{N}])` : String.raw`(?=$|[\s"',;])`;
  const before = !hasLetters || /^[\p{L}\p{N}]/u.test(form) ? freeBefore : '';
  const behind = !hasLetters || /[\p{L}\p{N}]$/u.test(form) ? freeBehind : '';
  return `${before}${literal(form)}${behind}`;
}

function literal(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}

function cut(text: string): string {
  if (Buffer.byteLength(text) <= keptBytesMax) return text;
  // A character cut in two decodes to U+FFFD, which is taken off.
  return Buffer.from(text)
    .toString('utf8', 0, keptBytesMax - ellipsis.length)
    .replace(/\uFFFD$/, '')
    .concat('...');
}

const ellipsis = '...';
