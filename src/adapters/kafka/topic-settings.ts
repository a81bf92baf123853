// Settings of topics, read and changed: the request that changes some of a topic's own resets all that it doesn't name.

import kafkajs, { type Admin } from 'kafkajs';

export interface TopicSettings {
  /** As the brokers know it. */
  readonly name: string;
  /** What is in force, whoever has set it: the topic, a broker, Kafka's default. */
  readonly values: ReadonlyMap<string, string>;
  /** The topic's own of them. */
  readonly own: ReadonlyMap<string, string>;
}

/** The broker's word for a setting of the topic's own. */
const ownSetting = 1;

/** All of each. @throws Error when one of them can't be read */
export async function settingsOf(admin: Admin, names: readonly string[]): Promise<readonly TopicSettings[]> {
  if (names.length === 0) return [];
  const resources = names.map((name) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name }));
  const described = await admin.describeConfigs({ resources, includeSynonyms: false });
  return described.resources.map(({ resourceName: name, configEntries }) => {
    const pairs = (some: typeof configEntries) =>
      new Map(some.map(({ configName, configValue }) => [configName, configValue]));
    return { name, values: pairs(configEntries), own: pairs(configEntries.filter(isOwn)) };
  });
}

/** Its other own settings stay what they are. @throws Error when a broker refuses it */
export async function changeSettings(
  admin: Admin,
  { name, own }: Pick<TopicSettings, 'name' | 'own'>,
  changes: Readonly<Record<string, string>>,
): Promise<void> {
  const configEntries = [...new Map([...own, ...Object.entries(changes)])].map(([key, value]) => ({
    name: key,
    value,
  }));
  const resources = [{ type: kafkajs.ConfigResourceTypes.TOPIC, name, configEntries }];
  await admin.alterConfigs({ validateOnly: false, resources });
}

function isOwn(entry: object): boolean {
  return Reflect.get(entry, 'configSource') === ownSetting;
}
