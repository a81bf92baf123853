// Whether a server is there.

import { connect } from 'node:net';

const answerWithinMs = 2000;

/** Whether anything listens at the first host and port of an address, a URL or `host:port`. */
export function isAnswered(address: string): Promise<boolean> {
  const [, host = '', port = ''] = hostAndPort.exec(address) ?? [];
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port), timeout: answerWithinMs });
    const end = (isThere: boolean) => {
      socket.destroy();
      resolve(isThere);
    };
    socket
      .once('connect', () => end(true))
      .once('error', () => end(false))
      .once('timeout', () => end(false));
  });
}

const hostAndPort = /^(?:[a-z+]+:\/\/)?(?:[^@/]*@)?([^:/,]+):(\d+)/;
