// What a start outside production prints on stdout: where it listens, the demo tenant's key, and a request that works when pasted.

export function banner(at: {
  readonly url: string;
  readonly operationsUrl: string;
  readonly apiKey: string;
  /** Signs in whoever opens it. */
  readonly dashboard: string;
}): string {
  return `
  Herald listens on ${at.url}
  documentation     ${at.url}/docs
  dashboard         ${at.dashboard}
  health, metrics   ${at.operationsUrl}

  demo tenant's API key: ${at.apiKey}
  a bearer token for the dashboard routes: npm run -s herald -- token

  Send a first notification:

  curl -sS ${at.url}/api/v1/notify -H 'x-api-key: ${at.apiKey}' -H 'content-type: application/json' -d '{"channel":"IN_APP","recipient":"ada","subject":"Hello","body":"Your first notification"}'

  and see it in the inbox:

  curl -sS ${at.url}/api/v1/notify/inapp/ada -H 'x-api-key: ${at.apiKey}'

  A first webhook, a first mail:

  npm run -s herald -- listen
  npm run -s herald -- mail

`;
}
