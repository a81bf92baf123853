// The help texts of the commands that have one of their own: those that speak to a Herald anywhere, and export.

const target = `
  --url URL            the Herald to speak to (HERALD_URL); without it the one of this machine's settings, and there the demo tenant's key and token
  --key nk_...         the tenant's API key (HERALD_API_KEY: then it isn't in the list of processes)
  --token TOKEN        a bearer token, in place of a key (HERALD_TOKEN)
`;

export const toolHelp: Readonly<Record<string, string>> = {
  send: `herald send --channel CHANNEL --recipient RECIPIENT [--body TEXT | --template NAME] ...
herald send --body-file FILE

Sends a notification and prints its id.
  --channel            email, sms, webhook or in-app
  --recipient          an email address, a number with +, an https URL, an id of your own
  --template NAME      or --subject TEXT and --body TEXT
  --data JSON          for the placeholders
  --strict             refuse it when the data lack names
  --priority           high, default or bulk
  --metadata KEY=VALUE as often as there are pairs
  --send-at TIME       ISO 8601; --expires-at TIME or --ttl-seconds N: fails when it isn't delivered by then
  --reply-to, --cc, --bcc ADDRESS   of an email; --cc and --bcc as often as there are addresses
  --transactional      to suppressed recipients too
  --idempotency-key K  the same key sends once, in 24 h; without it each call has its own, so that a lost answer is asked for again
  --body-file FILE     the whole request as JSON, in place of all fields; - reads it from stdin

  --wait               follow it until it has ended; exit code 1 unless it is delivered
  --timeout SECONDS    give up waiting then, with exit code 1
${target}`,
  show: `herald show ID [--json]

Prints a notification and its attempts as a time line. With a key alone that lacks the scope read: with the last attempt alone.
  --json               as the API answers it
${target}`,
  tail: `herald tail [--channel email,sms] [--status failed,retrying] [--priority high] [--recipient RECIPIENT] [--json]

Prints each change of a notification's status as it happens, until it is stopped. Filters take several, with commas between them.
With a token it follows the live stream, and goes on after a cut where it was. With a key (scope read) it asks every 2 s, for what is accepted
from now on. What it could not see it says so, on stderr.
  --json               a line of JSON each
${target}`,
  export: `herald export --out DIR|- [--table TABLE] [--format FORMAT] ...
herald export --verify DIR

Writes a table of the log into files, beside a service that goes on; docs/export-tables.md says what its columns are.
  --out DIR            an empty folder, or the one of an export that was interrupted: it goes on. - writes to stdout
  --table TABLE        events (as they were), notifications (as they are now) or attempts
  --format FORMAT      ndjson, csv or parquet
  --split HOW          none, day (UTC) or tenant: a folder each
  --from, --to TIME    ISO 8601, by when the log took an event
  --tenant ID          one tenant's alone
  --channel, --type    one or several, with commas between them; types of events are NotificationRequested, AttemptFailed, ...
  --since DIR          go on where the export in that folder ended, with its table and filters
  --rows-per-file N    about so many (250,000); killed, it loses at most those that aren't in a file yet
  --verify DIR         compare the files with manifest.json and count the log again; exit code 1 unless the export is complete
`,
};
