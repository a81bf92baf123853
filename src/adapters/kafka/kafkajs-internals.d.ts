// What we use of kafkajs 2.2.4 beside its public API; the version is pinned, so that these stay true.

declare module 'kafkajs/src/cluster/index.js' {
  import type { ISocketFactory, Logger, RetryOptions, SASLOptions } from 'kafkajs';
  import type { ConnectionOptions } from 'node:tls';

  export interface ClusterOptions {
    readonly logger: Logger;
    readonly socketFactory: ISocketFactory;
    readonly brokers: readonly string[];
    readonly ssl: ConnectionOptions | undefined;
    readonly sasl: SASLOptions | undefined;
    readonly clientId: string;
    /** ms, like every time here. */
    readonly connectionTimeout: number;
    readonly authenticationTimeout: number;
    readonly reauthenticationThreshold: number;
    readonly requestTimeout: number;
    readonly enforceRequestTimeout: boolean;
    readonly metadataMaxAge: number;
    readonly retry: RetryOptions;
    readonly allowAutoTopicCreation: boolean;
    readonly maxInFlightRequests: number | null;
    /** 0: read uncommitted, 1: read committed. */
    readonly isolationLevel: 0 | 1;
  }

  /** `partitionErrorCode` 0 is success; `leader` -1 is nobody. */
  export interface PartitionMetadata {
    readonly partitionId: number;
    readonly leader: number;
    readonly partitionErrorCode: number;
  }

  export interface ProtocolRequest {
    readonly apiKey: number;
    readonly apiVersion: number;
    readonly apiName: string;
    /** Asked for these two alone. */
    encode(): Promise<{ readonly buf: Buffer; readonly buffer: Buffer }>;
  }

  export interface ProtocolResponse<Decoded> {
    decode(payload: Buffer): Promise<Decoded>;
    parse(decoded: Decoded): Promise<Decoded>;
  }

  export interface ConnectionPool {
    readonly host: string;
    readonly port: number;
    send<Decoded>(of: { request: ProtocolRequest; response: ProtocolResponse<Decoded> }): Promise<Decoded>;
  }

  export interface FetchTopic {
    readonly topic: string;
    readonly partitions: readonly { partition: number; fetchOffset: string; maxBytes: number }[];
  }

  export interface FetchedMessage {
    readonly offset: string;
    readonly timestamp: string;
    readonly attributes: number;
    readonly key: Buffer | null;
    readonly value: Buffer | null;
    readonly isControlRecord?: boolean;
    readonly batchContext?: { readonly timestampType: number; readonly maxTimestamp: string };
  }

  export interface FetchedPartition {
    readonly partition: number;
    readonly errorCode: number;
    readonly highWatermark: string;
    readonly lastStableOffset?: string;
    readonly messages: readonly FetchedMessage[];
  }

  export interface FetchResponse {
    readonly responses: readonly { readonly topicName: string; readonly partitions: readonly FetchedPartition[] }[];
  }

  export interface Broker {
    readonly nodeId: number;
    readonly connectionPool: ConnectionPool;
    isConnected(): boolean;
    disconnect(): Promise<void>;
    metadata(topics: readonly string[]): Promise<unknown>;
    fetch(of: {
      replicaId?: number;
      isolationLevel?: 0 | 1;
      maxWaitTime: number;
      minBytes: number;
      maxBytes: number;
      topics: readonly FetchTopic[];
    }): Promise<FetchResponse>;
  }

  export default class Cluster {
    constructor(options: ClusterOptions);
    isConnected(): boolean;
    connect(): Promise<void>;
    disconnect(): Promise<void>;
    removeBroker(of: { host: string; port: number }): void;
    refreshMetadata(): Promise<void>;
    refreshMetadataIfNecessary(): Promise<void>;
    addMultipleTargetTopics(topics: readonly string[]): Promise<void>;
    findBroker(of: { nodeId: number | string }): Promise<Broker>;
    findTopicPartitionMetadata(topic: string): readonly PartitionMetadata[];
    fetchTopicsOffset(
      topics: readonly {
        topic: string;
        partitions: readonly { partition: number }[];
        fromBeginning?: boolean;
        fromTimestamp?: number;
      }[],
    ): Promise<readonly { topic: string; partitions: readonly { partition: number; offset: string }[] }[]>;
  }
}

declare module 'kafkajs/src/network/requestQueue/index.js' {
  /** Requests of one connection that wait for being sent or answered. */
  export default class RequestQueue {
    readonly pending: readonly unknown[];
    scheduleCheckPendingRequests(): void;
  }
}

declare module 'kafkajs/src/protocol/recordBatch/crc32C/index.js' {
  /** Castagnoli, as an unsigned number. */
  export default function crc32C(bytes: Buffer): number;
}
