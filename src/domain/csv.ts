// Fields of a CSV line, as RFC 4180 writes them.

const needsQuotes = /[",\r\n]/;

/** Nothing between two commas is null, an empty text is "". */
export function csvField(text: string): string {
  return text === '' || needsQuotes.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** How a spreadsheet's formula begins, also behind a tab or a line end (OWASP, CSV injection). */
const formulaBeginning = /^[=+\-@\t\r\n]/;

/** The same for a person's spreadsheet: what would be a formula there begins with an apostrophe, which makes it a text. */
export function inertCsvField(text: string): string {
  return csvField(formulaBeginning.test(text) ? `'${text}` : text);
}
