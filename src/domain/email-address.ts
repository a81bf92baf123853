// What an email address is, and its form on the wire: mail servers know domains in ASCII alone.

const addressMax = 254;

/** RFC 5321 without quoted local parts and address literals: one bare address, its domain with a dot. */
const plainAddress =
  /^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])$/i;

/** Letters with their marks, and digits: nothing invisible, nothing that separates. */
const internationalDomain = /^[\p{L}\p{M}\p{N}.-]{1,253}$/u;

/** The address as it goes out, an internationalised domain as `xn--` (RFC 5891); null: it isn't one plain address. */
export function asciiAddress(text: string): string | null {
  if (text.length > addressMax || text.startsWith('.') || text.includes('..') || text.includes('.@')) return null;
  const at = text.lastIndexOf('@');
  const domain = asciiDomain(text.slice(at + 1));
  if (domain === null) return null;
  const address = `${text.slice(0, at + 1)}${domain}`;
  return address.length <= addressMax && plainAddress.test(address) ? address : null;
}

/** One form for all ways to write a mail address (upper and lower case, a domain and its name in ASCII); any other text stays as it is. */
export function comparedAddress(text: string): string {
  return text.includes('@') ? (asciiAddress(text)?.toLowerCase() ?? text) : text;
}

export const emailAddressRule = `must be one email address of at most ${addressMax} characters, such as ada@example.com`;

function asciiDomain(domain: string): string | null {
  if (isAscii(domain)) return domain;
  if (!internationalDomain.test(domain)) return null;
  // By the rules of IDNA in URLs (UTS 46), the one implementation that every runtime has.
  const ascii = URL.parse(`http://${domain}`)?.hostname.split('.') ?? [];
  const labels = domain.split('.');
  // What is another way to write an ASCII domain (full-width letters, the Kelvin sign) would be one address under two names.
  const isKept = labels.every((label, i) => isAscii(label) || ascii[i]?.startsWith('xn--') === true);
  return isKept && ascii.length === labels.length ? ascii.join('.') : null;
}

function isAscii(text: string): boolean {
  return /^\p{ASCII}*$/u.test(text);
}
