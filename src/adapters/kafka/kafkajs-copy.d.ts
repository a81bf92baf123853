// What a copy uses of kafkajs 2.2.4's brokers beside its public API; the version is pinned, so that these stay true.

declare module 'kafkajs/src/cluster/index.js' {
  interface CopiedMessage {
    readonly key: Buffer | null;
    readonly value: Buffer | null;
    /** UTC ms. */
    readonly timestamp: number;
    readonly headers: Readonly<Record<string, never>>;
  }

  interface ProducedTopic {
    readonly topicName: string;
    readonly partitions: readonly {
      readonly partition: number;
      readonly errorCode: number;
      readonly baseOffset: string;
      /** -1: the records keep the times that they came with. */
      readonly logAppendTime: string;
    }[];
  }

  interface ConfigResource {
    /** Of kafkajs' ConfigResourceTypes. */
    readonly type: number;
    readonly name: string;
    readonly configNames: readonly string[];
  }

  /** Each rejects with a KafkaJSProtocolError, whose `type` names the error, when the broker refuses. */
  interface Broker {
    initProducerId(of: {
      transactionalId: null;
      transactionTimeout: number;
    }): Promise<{ readonly producerId: string; readonly producerEpoch: number }>;
    produce(of: {
      producerId: string;
      producerEpoch: number;
      acks: -1;
      timeout: number;
      topicData: readonly {
        topic: string;
        partitions: readonly { partition: number; firstSequence: number; messages: readonly CopiedMessage[] }[];
      }[];
    }): Promise<{ readonly topics: readonly ProducedTopic[] }>;
    describeConfigs(of: { resources: readonly ConfigResource[] }): Promise<{
      readonly resources: readonly {
        readonly resourceName: string;
        readonly configEntries: readonly { readonly configName: string; readonly configValue: string }[];
      }[];
    }>;
  }
}
