// What is kept of a receiver's answer: at most 1 KiB of plain text, with every secret cut out in every form in which it may come back.

const keptBytesMax = 1_024;
/** How much of an answer is looked at to keep 1 KiB of it. */
const readMax = 8_192;
const replacement = '[secret]';

/**
 * The text as it may be stored and shown: secrets replaced by `[secret]`, control characters and runs of white space by one space.
 * For failures; what succeeds keeps nothing of an answer but an id.
 */
export function kept(text: string, secrets: readonly string[]): string {
  const forms = formsOf(secrets);
  let window = text.slice(0, readMax);
  for (const form of forms) window = window.replaceAll(form, replacement);
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

function cut(text: string): string {
  if (Buffer.byteLength(text) <= keptBytesMax) return text;
  // A character cut in two decodes to U+FFFD, which is taken off.
  return Buffer.from(text)
    .toString('utf8', 0, keptBytesMax - ellipsis.length)
    .replace(/\uFFFD$/, '')
    .concat('...');
}

const ellipsis = '...';
