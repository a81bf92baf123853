// Whether log, settings and secret are for one another. A log whose tenants' settings are other ones fails what they send, or sends it by another's
// provider, and under another secret no provider's key opens: so a start that finds it stops, and a person decides (herald adopt).

import { sealedFor } from '../domain/tenant.ts';
import { type SecretBox, SecretBoxError } from '../ports/secret-box.ts';
import type { SettingsStore } from '../ports/settings-store.ts';
import { allTenants } from '../replay/copy-settings.ts';
import type { Tie } from './engines.ts';
import { StartError } from './start-error.ts';

interface Tied {
  readonly tie: Tie;
  readonly settings: SettingsStore;
  readonly secretBox: SecretBox;
}

const sealedText = 'herald';

/** Ties what was never tied. @throws StartError */
export async function checkTie({ tie, settings, secretBox }: Tied): Promise<void> {
  await checkLog(tie, settings);
  await checkSecret(settings, secretBox);
}

/** From now on they are for one another, whatever they said before. */
export async function renewTie({ tie, settings, secretBox }: Tied): Promise<void> {
  await settings.replaceMark('log', tie.identity.id);
  await markSecret(settings, secretBox);
  await tie.identity.noteSettings();
}

/** Once all that opens is sealed under the secret in use, so is what tells of it. */
export async function rotateTie(settings: SettingsStore, secretBox: SecretBox): Promise<void> {
  const mark = await settings.mark('secret');
  if (mark !== null && doesOpen(secretBox, mark, sealedFor.settings)) await markSecret(settings, secretBox);
}

function markSecret(settings: SettingsStore, secretBox: SecretBox): Promise<void> {
  return settings.replaceMark('secret', secretBox.seal(sealedText, sealedFor.settings));
}

async function checkLog({ identity, log, settings: place }: Tie, settings: SettingsStore): Promise<void> {
  const known = await settings.mark('log');
  if (known === null && identity.hasSettings)
    throw new StartError(`${place} holds no settings of ${log}: ${whatToDo('the settings')}`);
  if ((known ?? (await settings.keepMark('log', identity.id))) !== identity.id)
    throw new StartError(
      `${place} holds the settings of another log than ${log}: ${whatToDo('the one that is not the right one')}`,
    );
  if (!identity.hasSettings) await identity.noteSettings();
}

function whatToDo(what: string): string {
  return `put ${what} back from its backup. To use them together all the same, run "herald adopt".`;
}

async function checkSecret(settings: SettingsStore, secretBox: SecretBox): Promise<void> {
  const mark = await settings.mark('secret');
  const opens =
    // Settings of before there was a mark.
    mark === null ? await opensFirstTenant(settings, secretBox) : doesOpen(secretBox, mark, sealedFor.settings);
  if (!opens)
    throw new StartError(
      'ENCRYPTION_SECRET is not the one that sealed the settings (where it is not set, it is in DATA_DIR/encryption-secret): give that one, or name it as ' +
        'ENCRYPTION_SECRET_PREVIOUS. If it is lost for good, run "herald adopt": what it has sealed stays closed, and tenants save their providers and keys anew.',
    );
  if (mark === null) await settings.keepMark('secret', secretBox.seal(sealedText, sealedFor.settings));
}

/** Of the tenants that there are; true where there is none. What erased ones leave says nothing. */
export async function opensFirstTenant(settings: SettingsStore, secretBox: SecretBox): Promise<boolean> {
  for await (const id of allTenants(settings)) {
    const tenant = (await settings.settings(id))?.tenant;
    if (tenant !== undefined) return doesOpen(secretBox, tenant.sealedWebhookSecret, sealedFor.webhookSecret(id));
  }
  return true;
}

function doesOpen(secretBox: SecretBox, sealed: string, context: string): boolean {
  try {
    secretBox.open(sealed, context);
    return true;
  } catch (error) {
    if (error instanceof SecretBoxError) return false;
    throw error;
  }
}
