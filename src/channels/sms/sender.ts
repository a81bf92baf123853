// Who a text message comes from, as every SMS provider takes it.

/** A number with +, a short code, or a sender id of up to 11 characters. */
export function isNumberOrName(from: string): boolean {
  if (/^\+[1-9]\d{5,14}$/.test(from) || /^\d{3,8}$/.test(from)) return true;
  return /^[A-Za-z0-9 &+_-]{1,11}$/.test(from) && /[A-Za-z]/.test(from);
}

/** For APIs that want international numbers without their +; a sender id stays as it is. */
export function withoutPlus(number: string): string {
  return /^\+\d+$/.test(number) ? number.slice(1) : number;
}
