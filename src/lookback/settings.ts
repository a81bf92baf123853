// The settings of the running service to those who only look: what reads passes, what is noted by the way is let go, and what writes is refused. Each call
// by its name, so that one which comes to the port has to be decided here.

import type { SettingsStore } from '../ports/settings-store.ts';

/** @param refused what a write rejects with */
export function settingsToLookAt(store: SettingsStore, refused: () => Error): SettingsStore {
  const refuse = () => Promise.reject(refused());
  return {
    tenantBySubject: store.tenantBySubject,
    tenantIdByKeyHash: store.tenantIdByKeyHash,
    settings: store.settings,
    breakers: store.breakers,
    templates: store.templates,
    templatePage: store.templatePage,
    template: store.template,
    templateByName: store.templateByName,
    templateHistory: store.templateHistory,
    retentions: store.retentions,
    mark: store.mark,
    changesSince: store.changesSince,
    ready: store.ready,
    close: store.close,

    // A key's use that shows a look-back is none of the service.
    noteKeyUses: async () => undefined,
    noteBreakers: async () => undefined,
    // The one that holds, or that would.
    keepMark: async (name, value) => (await store.mark(name)) ?? value,

    createTenant: refuse,
    eraseTenant: refuse,
    setShare: refuse,
    setRetention: refuse,
    replaceKey: refuse,
    createNamedKey: refuse,
    deleteNamedKey: refuse,
    saveProvider: refuse,
    deleteProvider: refuse,
    forgetPreviousKeys: refuse,
    createTemplate: refuse,
    updateTemplate: refuse,
    deleteTemplate: refuse,
    replaceSealed: refuse,
    replaceMark: refuse,
  };
}
