// A broker that asks for rights, and who may change a topic's settings there: everybody, until somebody says otherwise.

import kafkajs, { type AclEntry, type Admin } from 'kafkajs';

/** Lines of server.properties: what nobody has said anything of is everybody's. */
export const authorizing: readonly string[] = [
  'authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer',
  'allow.everyone.if.no.acl.found=true',
];

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs;

const entryOf = (
  topic: string,
  operation: AclEntry['operation'],
  permissionType: AclEntry['permissionType'],
): AclEntry => ({
  resourceType: AclResourceTypes.TOPIC,
  resourceName: topic,
  resourcePatternType: ResourcePatternTypes.LITERAL,
  principal: 'User:ANONYMOUS',
  host: '*',
  operation,
  permissionType,
});

/** As it was, in words: what is refused afterwards is all that isn't. */
export async function grantAll(admin: Admin, topic: string): Promise<void> {
  await admin.createAcls({ acl: [entryOf(topic, AclOperationTypes.ALL, AclPermissionTypes.ALLOW)] });
}

/** Nobody without a name may change the topic's settings. Resolves with the call that takes it back. */
export async function refuseChanges(admin: Admin, topic: string): Promise<(admin: Admin) => Promise<void>> {
  const refused = entryOf(topic, AclOperationTypes.ALTER_CONFIGS, AclPermissionTypes.DENY);
  await admin.createAcls({ acl: [refused] });
  return async (again) => {
    await again.deleteAcls({ filters: [refused] });
  };
}
