// A broker of a test's own that can be reached through a faulty proxy alone: it tells its clients the proxy's port.

import { type OwnKafka, startOwnKafka } from './engine-control.ts';
import { type FaultyProxy, startFaultyProxy } from './faulty-proxy.ts';
import { freePort } from './free-ports.ts';

export interface ProxiedKafka {
  /** `address` and `brokers` are the broker's own; clients are given the proxy's. */
  readonly kafka: OwnKafka;
  readonly proxy: FaultyProxy;
  stop(): Promise<void>;
}

/** @param conf lines of server.properties */
export async function startProxiedKafka(conf: readonly string[] = []): Promise<ProxiedKafka> {
  const port = await freePort();
  const kafka = await startOwnKafka({ brokers: 1, advertisedPort: port, conf });
  const proxy = await startFaultyProxy({ target: kafka.address, port });
  return {
    kafka,
    proxy,
    async stop() {
      await proxy.close();
      await kafka.stop();
    },
  };
}
