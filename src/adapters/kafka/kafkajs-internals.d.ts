// What we use of kafkajs 2.2.4 beside its public API; the version is pinned, so that these stay true.

declare module 'kafkajs/src/cluster/index.js' {
  import type { ISocketFactory, Logger, RetryOptions, SASLOptions } from 'kafkajs';
  import type { ConnectionOptions } from 'node:tls';

  export interface ClusterOptions {
    readonly logger: Logger;
    readonly socketFactory: ISocketFactory;
    /** One of them is connected to first. */
    readonly brokers: () => string[];
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

  export interface Connection {
    readonly socket?: { destroy(): void };
    rejectRequests(error: Error): void;
    disconnect(): Promise<unknown>;
    send<Decoded>(of: Asking<Decoded>): Promise<Decoded>;
  }

  export interface Asking<Decoded> {
    readonly request: ProtocolRequest;
    readonly response: ProtocolResponse<Decoded>;
  }

  export interface ConnectionPool {
    /** The first is for all but fetches, which have the second. */
    readonly pool: readonly Connection[];
    send<Decoded>(of: Asking<Decoded>): Promise<Decoded>;
    /** Connects it; it authenticates itself with what is sent first. */
    getConnection(index: number): Promise<Connection>;
  }

  export interface Broker {
    readonly nodeId: number;
    /** Of each API the versions that it speaks; null before it was connected to. */
    readonly versions: null | Readonly<Record<number, { readonly maxVersion: number }>>;
    readonly connectionPool: ConnectionPool;
    isConnected(): boolean;
  }

  export interface BrokerPool {
    /** By node id: those that the last metadata named. */
    readonly brokers: Readonly<Record<string, Broker>>;
    /** Asked for metadata first; one of `brokers` once these name its address. Every refresh throws without one. */
    seedBroker: Broker | undefined;
    /** Connects to it. */
    findBroker(of: { nodeId: number | string }): Promise<Broker>;
    findConnectedBroker(): Promise<Broker>;
  }

  export default class Cluster {
    constructor(options: ClusterOptions);
    isConnected(): boolean;
    connect(): Promise<void>;
    refreshMetadata(): Promise<void>;
    addMultipleTargetTopics(topics: readonly string[]): Promise<void>;
    readonly brokerPool: BrokerPool;
    findTopicPartitionMetadata(topic: string): readonly PartitionMetadata[];
  }
}

declare module 'kafkajs/src/protocol/requests/metadata/v6/response.js' {
  import type { PartitionMetadata } from 'kafkajs/src/cluster/index.js';

  export interface MetadataAnswer {
    readonly topicMetadata: readonly {
      /** 0 is success, as of a partition. */
      readonly topicErrorCode: number;
      readonly topic: string;
      readonly partitionMetadata: readonly PartitionMetadata[];
    }[];
  }

  /** As whoever sends it finds it, each time. */
  const response: {
    /** @throws KafkaJSProtocolError for the first error of a topic or a partition */
    parse(decoded: MetadataAnswer): Promise<MetadataAnswer>;
  };
  export default response;
}

declare module 'kafkajs/src/network/requestQueue/index.js' {
  export interface QueuedRequest {
    readonly requestTimeout: number;
    /** Rejects it, and takes it out of those in flight. */
    timeoutRequest(): void;
  }

  /** Requests of one connection that wait for being sent or answered. */
  export default class RequestQueue {
    pending: QueuedRequest[];
    /** Sent and not answered, by their numbers. */
    readonly inflight: ReadonlyMap<number, QueuedRequest>;
    /** null: any number. */
    readonly maxInFlightRequests: number | null;
    throttledUntil: number;
    throttleCheckTimeoutId: NodeJS.Timeout | null;
    readonly enforceRequestTimeout: boolean;
    isConnected(): boolean;
    /** After each answer; null: the broker said nothing of it. */
    maybeThrottle(throttleMs: number | null): void;
    canSendSocketRequestImmediately(): boolean;
    /** Sends what may be sent. */
    checkPendingRequests(): void;
    scheduleCheckPendingRequests(): void;
    /** Called by each connection once it is there. */
    scheduleRequestTimeoutCheck(): void;
    /** Ends its timers. */
    destroy(): void;
  }
}

declare module 'kafkajs/src/protocol/recordBatch/crc32C/index.js' {
  /** Castagnoli, as an unsigned number. */
  export default function crc32C(bytes: Buffer): number;
}

declare module 'kafkajs/src/broker/index.js' {
  /** Of the cluster's `Broker` what tests take over. */
  export default class Broker {
    readonly connectionPool: {
      readonly host: string;
      send(of: unknown): Promise<unknown>;
      getConnection(index: number): Promise<{ send(of: unknown): Promise<unknown> }>;
    };
    isConnected(): boolean;
    connect(): Promise<void>;
    metadata(topics: readonly string[]): Promise<unknown>;
    initProducerId(of: object): Promise<{ readonly producerId: string; readonly producerEpoch: number }>;
  }
}
