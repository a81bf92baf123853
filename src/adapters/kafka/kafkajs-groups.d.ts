// What consuming uses of kafkajs 2.2.4's brokers beside its public API; the version is pinned, so that these stay true.

declare module 'kafkajs/src/cluster/index.js' {
  interface GroupMember {
    readonly memberId: string;
    readonly memberMetadata: Buffer;
  }

  interface OffsetTopic<P> {
    readonly topic: string;
    readonly partitions: readonly P[];
  }

  /** Each rejects with a KafkaJSProtocolError, whose `type` names the error, when the broker refuses. */
  interface Broker {
    findGroupCoordinator(of: {
      groupId: string;
      coordinatorType: 0;
    }): Promise<{ readonly coordinator: { readonly nodeId: number } }>;
    joinGroup(of: {
      groupId: string;
      sessionTimeout: number;
      rebalanceTimeout: number;
      memberId: string;
      groupProtocols: readonly { name: string; metadata: Buffer }[];
    }): Promise<{
      readonly generationId: number;
      readonly leaderId: string;
      readonly memberId: string;
      readonly members: readonly GroupMember[];
    }>;
    syncGroup(of: {
      groupId: string;
      generationId: number;
      memberId: string;
      groupAssignment: readonly { memberId: string; memberAssignment: Buffer }[];
    }): Promise<{ readonly memberAssignment: Buffer }>;
    heartbeat(of: { groupId: string; groupGenerationId: number; memberId: string }): Promise<unknown>;
    leaveGroup(of: { groupId: string; memberId: string }): Promise<unknown>;
    offsetCommit(of: {
      groupId: string;
      groupGenerationId: number;
      memberId: string;
      topics: readonly OffsetTopic<{ partition: number; offset: string; metadata: string }>[];
    }): Promise<unknown>;
    offsetFetch(of: { groupId: string; topics: readonly OffsetTopic<{ partition: number }>[] }): Promise<{
      readonly responses: readonly OffsetTopic<{ partition: number; offset: string; metadata: string | null }>[];
    }>;
    /** `timestamp` -1: the end; -2: the start. An offset of -1: nothing is that late. */
    listOffsets(of: {
      replicaId: -1;
      isolationLevel: 0;
      topics: readonly OffsetTopic<{ partition: number; timestamp: string }>[];
    }): Promise<{ readonly responses: readonly OffsetTopic<{ partition: number; offset: string }>[] }>;
  }
}
