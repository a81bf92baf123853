// Certificate authorities of a test's own, by the openssl command, for servers and clients that have to be told apart.

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

export interface Issued {
  /** PEM files. */
  readonly certFile: string;
  readonly keyFile: string;
  /** What they hold. */
  readonly cert: string;
  readonly key: string;
}

export interface Authority extends Issued {
  /** For `name` and, where addresses are given, for these hosts: "IP:127.0.0.1". */
  issue(name: string, hosts?: string): Promise<Issued>;
}

export interface Certificates {
  readonly folder: string;
  makeAuthority(name: string): Promise<Authority>;
  remove(): Promise<void>;
}

const run = promisify(execFile);
const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
const days = '2';

/** @throws Error when there is no openssl */
export async function makeCertificates(): Promise<Certificates> {
  const folder = await mkdtemp(join(tmpdir(), 'herald-certificates-'));
  const config = join(folder, 'openssl.cnf');
  await writeFile(config, '[req]\ndistinguished_name=name\n[name]\n[ca]\nbasicConstraints=critical,CA:TRUE\n');

  const filesOf = (name: string) => ({ certFile: join(folder, `${name}.pem`), keyFile: join(folder, `${name}.key`) });
  const read = async (name: string): Promise<Issued> => {
    const { certFile, keyFile } = filesOf(name);
    return { certFile, keyFile, cert: await readFile(certFile, 'utf8'), key: await readFile(keyFile, 'utf8') };
  };

  return {
    folder,
    async makeAuthority(name) {
      const { certFile, keyFile } = filesOf(name);
      const subject = ['-config', config, '-extensions', 'ca', '-subj', `/CN=${name}`, '-days', days];
      await run('openssl', ['req', '-x509', ...newKey, ...subject, '-keyout', keyFile, '-out', certFile]);
      const signer = ['-CA', certFile, '-CAkey', keyFile, '-CAcreateserial', '-days', days];
      return {
        ...(await read(name)),
        async issue(of, hosts) {
          const issued = filesOf(of);
          const request = join(folder, `${of}.csr`);
          const extensions = join(folder, `${of}.ext`);
          await writeFile(extensions, hosts === undefined ? '' : `subjectAltName=${hosts}\n`);
          const asked = ['-config', config, '-subj', `/CN=${of}`, '-keyout', issued.keyFile, '-out', request];
          await run('openssl', ['req', ...newKey, ...asked]);
          const signed = ['-req', '-in', request, ...signer, '-extfile', extensions, '-out', issued.certFile];
          await run('openssl', ['x509', ...signed]);
          return read(of);
        },
      };
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
