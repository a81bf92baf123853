// Cuts secrets out of texts that others wrote (a receiver's answer, an error), in every form in which they may come back.

const replacement = '[secret]';
/** Shorter ones are found in ordinary words as well. */
const longMin = 8;

export interface Redaction {
  /** The text with every secret replaced by `[secret]`: long ones wherever they stand, short ones where they stand by themselves. */
  applied(text: string): string;
  /** A text that was cut may end in the beginning of a secret, which no form matches: so many characters of it at most. */
  readonly longest: number;
}

export function redactionOf(secrets: readonly string[]): Redaction {
  const long = formsOf(secrets.filter((secret) => secret.length >= longMin));
  const short = formsOf(secrets.filter((secret) => secret.length < longMin));
  return {
    applied: (text) =>
      withoutShort(
        long.reduce((left, form) => left.replaceAll(form, replacement), text),
        short,
      ),
    longest: long[0]?.length ?? 0,
  };
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
