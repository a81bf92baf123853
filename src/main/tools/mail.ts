// herald mail: a mail server on this machine that shows the mails which it takes, and sends none on.

import type { AddressInfo } from 'node:net';

import type { Config } from '../config.ts';
import { StartError } from '../start-error.ts';
import { findService } from './local-service.ts';

export interface MailOptions {
  readonly port: number;
  /** Of the service for which the lines to paste are made; absent: the one of the settings. */
  readonly url?: string | undefined;
}

/** A mail holds 200 KiB of body, encoded. */
const mailBytesMax = 4 * 1024 * 1024;

/** Runs until it is stopped. */
export async function showMails(config: Config, options: MailOptions): Promise<void> {
  const [{ SMTPServer }, { default: PostalMime }] = await Promise.all([import('smtp-server'), import('postal-mime')]);
  const server = new SMTPServer({
    authOptional: true,
    allowInsecureAuth: true,
    disabledCommands: ['STARTTLS'],
    size: mailBytesMax,
    onAuth: ({ username }, _, callback) => callback(null, { user: username }),
    onData(stream, { envelope }, callback) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => {
        if (!stream.sizeExceeded) chunks.push(chunk);
      });
      stream.on('end', () => {
        if (stream.sizeExceeded) return callback(Object.assign(new Error('too large'), { responseCode: 552 }));
        void PostalMime.parse(Buffer.concat(chunks)).then(({ from, subject, text, html }) => {
          const to = envelope.rcptTo.map(({ address }) => address).join(', ');
          const sender = from === undefined ? '' : `${from.name ?? ''} <${from.address ?? ''}>`;
          process.stdout.write(
            `${new Date().toISOString()}\nFrom:    ${sender}\nTo:      ${to}\nSubject: ${subject ?? ''}\n\n${(html ?? text ?? '').trim()}\n\n`,
          );
          callback();
        }, callback);
      });
    },
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) =>
      reject(new StartError(`--port: can't listen on ${options.port}: ${error.message}`)),
    );
    server.listen(options.port, '127.0.0.1', resolve);
  });
  // A client that goes away in the middle is its own business.
  server.on('error', () => {});
  const { port } = server.server.address() as AddressInfo;
  const { url, tenant } = await findService(config, options.url);
  const json = `-H 'content-type: application/json' -d`;
  const provider = `{"channel":"EMAIL","provider":"smtp","apiKey":"none","config":{"fromName":"Herald","fromEmail":"hello@example.com","host":"127.0.0.1","port":${port}},"enabled":true}`;
  const mail = '{"channel":"EMAIL","recipient":"ada@example.com","subject":"Hello","body":"<p>Your first mail</p>"}';
  process.stdout.write(`Taking mails on 127.0.0.1:${port}

Make it the tenant's mail server, and send a mail:

  curl -sS ${url}/api/v1/providers -H "authorization: Bearer $(npm run -s herald -- token)" ${json} '${provider}'
  curl -sS ${url}/api/v1/notify -H 'x-api-key: ${tenant?.apiKey ?? 'nk_...'}' ${json} '${mail}'

`);
}
