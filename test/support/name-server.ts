// A name server on loopback that answers A and AAAA by a table, by UDP as RFC 1035 has it; or never.

import { createSocket } from 'node:dgram';

export interface NameServer {
  /** `127.0.0.1:port` */
  readonly address: string;
  /** Each question, `A name` or `AAAA name`. */
  readonly asked: string[];
  close(): Promise<void>;
}

export interface Zone {
  /** By name: its addresses; 'silent': no answer, ever; a name that isn't there doesn't exist. */
  readonly [name: string]: readonly string[] | 'silent';
}

const types: Readonly<Record<number, 'A' | 'AAAA'>> = { 1: 'A', 28: 'AAAA' };
const ttlSeconds = 7;

export async function startNameServer(zone: Zone): Promise<NameServer> {
  const socket = createSocket('udp4');
  const asked: string[] = [];
  socket.on('message', (question, from) => {
    const { name, type, end } = questionOf(question);
    asked.push(`${type} ${name}`);
    const known = zone[name];
    if (known === 'silent') return;
    const addresses = (known ?? []).filter((address) => address.includes(':') === (type === 'AAAA'));
    socket.send(answerTo(question.subarray(0, end), known === undefined, type, addresses), from.port, from.address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

function questionOf(message: Buffer): { name: string; type: 'A' | 'AAAA'; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: types[message.readUInt16BE(at + 1)] ?? 'A', end: at + 5 };
}

function answerTo(question: Buffer, isAbsent: boolean, type: 'A' | 'AAAA', addresses: readonly string[]): Buffer {
  const header = Buffer.from(question);
  header.writeUInt16BE(0x8180 | (isAbsent ? 3 : 0), 2);
  header.writeUInt16BE(addresses.length, 6);
  header.writeUInt16BE(0, 8);
  header.writeUInt16BE(0, 10);
  return Buffer.concat([header, ...addresses.map((address) => recordOf(type, address))]);
}

function recordOf(type: 'A' | 'AAAA', address: string): Buffer {
  const data = type === 'A' ? Buffer.from(address.split('.').map(Number)) : bytesOfSix(address);
  const head = Buffer.alloc(12);
  // The name is that of the question.
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(type === 'A' ? 1 : 28, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt32BE(ttlSeconds, 6);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

function bytesOfSix(address: string): Buffer {
  const [front = '', back = ''] = address.split('::');
  const groups = (text: string) => (text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16)));
  const [head, tail] = [groups(front), groups(back)];
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => 0);
  const bytes = Buffer.alloc(16);
  for (const [i, group] of [...head, ...zeros, ...tail].entries()) bytes.writeUInt16BE(group, i * 2);
  return bytes;
}
