// Requests that are meant to break something: bodies, bytes that are hardly HTTP, and requests that two readers would read differently.

import { gzipSync } from 'node:zlib';

export function rawPost(apiKey: string, headers: readonly string[], body = '', path = '/api/v1/notify'): string {
  const lines = ['Host: herald', `x-api-key: ${apiKey}`, ...headers].map((line) => `${line}\r\n`);
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
}

/** No route that takes a body takes one of these. */
export const wrongBodies: Readonly<Record<string, string | Uint8Array>> = {
  'an array': '[]',
  'a text': '"x"',
  null: 'null',
  'a truncated object': '{"channel":"IN_APP","recipient":"u","bo',
  'a truncated escape': '{"channel":"\\u12',
  'brackets nested 100,000 deep': '['.repeat(100_000) + ']'.repeat(100_000),
  'objects nested 30,000 deep': `${'{"data":'.repeat(30_000)}1${'}'.repeat(30_000)}`,
  'an array of 100,000 in each field': `{"ids":[${'1,'.repeat(100_000)}1],"data":[],"channel":[],"recipient":{}}`,
  '20,000 unknown fields': `{${Array.from({ length: 20_000 }, (_, i) => `"k${i}":1`).join(',')}}`,
  'an unknown field of 200 KiB': `{"${'k'.repeat(200 * 1024)}":1}`,
  'Latin-1': Buffer.from('{"channel":"ä"}', 'latin1'),
  'UTF-16': Buffer.from('{"channel":"IN_APP"}', 'utf16le'),
  'a byte order mark': '\uFEFF{"channel":"FAX"}',
  'an overlong NUL': Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xc0, 0x80, 0x22, 0x7d]),
  'a NUL in a name': '{"\\u0000":1}',
  'half a surrogate pair in a name': '{"\\ud800":1}',
  'a prototype': '{"__proto__":{"polluted":true}}',
  'a constructor': '{"constructor":{"prototype":{"polluted":true}}}',
  'names of a prototype': '{"toString":1,"hasOwnProperty":1,"valueOf":1}',
  'NaN and Infinity': '{"channel":NaN,"priority":Infinity}',
  'comments and trailing commas': '{"channel":"IN_APP",/* */}',
  'XML with an entity': '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>',
  'bytes that are gzip and do not say so': gzipSync(Buffer.alloc(10_000_000)),
};

const json = 'Content-Type: application/json';
const length = (bytes: number | string) => `Content-Length: ${bytes}`;
const smuggled = 'GET /api/v1/tenant HTTP/1.1\r\nHost: x\r\n\r\n';
/** Made with the API key of a tenant. */
export const ambiguousRequests: Readonly<Record<string, (apiKey: string) => string>> = {
  'a length and chunks': (key) => rawPost(key, [json, length(6), 'Transfer-Encoding: chunked'], `0\r\n\r\n${smuggled}`),
  'chunks and a length': (key) => rawPost(key, [json, 'Transfer-Encoding: chunked', length(6)], `0\r\n\r\n${smuggled}`),
  'two lengths': (key) => rawPost(key, [json, length(5), length(6)], smuggled),
  'a list of lengths': (key) => rawPost(key, [json, length('5, 6')], smuggled),
  'a negative length': (key) => rawPost(key, [json, length(-1)], smuggled),
  'a length with a sign': (key) => rawPost(key, [json, length('+5')], smuggled),
  'a hexadecimal length': (key) => rawPost(key, [json, length('0x5')], smuggled),
  'a length beyond numbers': (key) => rawPost(key, [json, length('9'.repeat(40))], smuggled),
  'an unknown transfer encoding': (key) => rawPost(key, [json, 'Transfer-Encoding: xchunked'], smuggled),
  'chunked that is not last': (key) =>
    rawPost(key, [json, 'Transfer-Encoding: chunked, identity'], `0\r\n\r\n${smuggled}`),
  'chunked twice': (key) =>
    rawPost(key, [json, 'Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'], `0\r\n\r\n${smuggled}`),
  'a space before a colon': (key) => rawPost(key, [json, 'Transfer-Encoding : chunked'], `0\r\n\r\n${smuggled}`),
  'a folded header': (key) => rawPost(key, [json, 'X: a\r\n Transfer-Encoding: chunked'], smuggled),
  'a bare carriage return': (key) => rawPost(key, [json, 'X: a\rTransfer-Encoding: chunked'], smuggled),
  'a NUL in a header': (key) => rawPost(key, [json, 'X: a\0b'], smuggled),
  'a bad chunk size': (key) => rawPost(key, [json, 'Transfer-Encoding: chunked'], `zz\r\n${smuggled}`),
  'a chunk size beyond numbers': (key) =>
    rawPost(key, [json, 'Transfer-Encoding: chunked'], `${'f'.repeat(20)}\r\n${smuggled}`),
  'an endless chunk extension': (key) =>
    rawPost(key, [json, 'Transfer-Encoding: chunked'], `5;${'x'.repeat(40_000)}\r\n`),
};

/** What is sent, and the status that it gets. */
export const hardlyHttp: Readonly<Record<string, readonly [string, number]>> = {
  garbage: ['\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello over TLS\r\n\r\n', 400],
  'HTTP/2 without asking': ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
  'HTTP/0.9': ['GET /nowhere\r\n\r\n', 404],
  'an unknown version': ['GET / HTTP/9.9\r\nHost: x\r\n\r\n', 400],
  'an unknown method': ['HACK /api/v1/tenant HTTP/1.1\r\nHost: x\r\n\r\n', 400],
  'a method in lower case': ['get / HTTP/1.1\r\nHost: x\r\n\r\n', 400],
  'TRACE, which would echo': ['TRACE /api/v1/tenant HTTP/1.1\r\nHost: x\r\nX-Echo: me\r\n\r\n', 405],
  PROPFIND: ['PROPFIND /api/v1/tenant HTTP/1.1\r\nHost: x\r\n\r\n', 405],
  'OPTIONS of everything': ['OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n', 404],
  'an absolute address': ['GET http://169.254.169.254/latest HTTP/1.1\r\nHost: x\r\n\r\n', 404],
  'a space in the address': ['GET /a b HTTP/1.1\r\nHost: x\r\n\r\n', 400],
  'no host': ['GET /api/v1/tenant HTTP/1.1\r\n\r\n', 400],
  'no host on the hot path': ['POST /api/v1/notify HTTP/1.1\r\nContent-Length: 0\r\n\r\n', 400],
  'a bad host': ['GET /api/v1/tenant HTTP/1.1\r\nHost: a b@c/d\r\n\r\n', 400],
  'two hosts': ['GET /api/v1/tenant HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', 400],
  'the same host twice': ['GET /api/v1/tenant HTTP/1.1\r\nHost: a\r\nX: y\r\nhOST: a\r\n\r\n', 400],
  'two hosts on the hot path': ['POST /api/v1/notify HTTP/1.1\r\nHost: a\r\nHost: b\r\nContent-Length: 0\r\n\r\n', 400],
  'two hosts of HTTP/1.0': ['GET /api/v1/tenant HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n', 400],
  'an empty host': ['GET /api/v1/tenant HTTP/1.1\r\nHost:\r\n\r\n', 401],
  'a host of IPv6 with a port': ['GET /api/v1/tenant HTTP/1.1\r\nHost: [2001:db8::7]:3000\r\n\r\n', 401],
  'an upgrade': [
    'GET /api/v1/tenant HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\r\n',
    401,
  ],
  'an upgrade to HTTP/2': [
    'GET /api/v1/tenant HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQ\r\n\r\n',
    401,
  ],
  'an unknown expectation': ['GET /api/v1/tenant HTTP/1.1\r\nHost: x\r\nExpect: the-worst\r\n\r\n', 401],
  'headers over 16 KiB': [`GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(17_000)}\r\n\r\n`, 431],
  'an address over 16 KiB': [`GET /${'x'.repeat(17_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
  '3,000 headers': [`GET / HTTP/1.1\r\nHost: x\r\n${'X: 1\r\n'.repeat(3000)}\r\n`, 431],
  '200 headers': [`GET /api/v1/tenant HTTP/1.1\r\nHost: x\r\n${'X: 1\r\n'.repeat(200)}\r\n`, 431],
  '90 headers': [`GET /api/v1/tenant HTTP/1.1\r\nHost: x\r\n${'X: 1\r\n'.repeat(90)}\r\n`, 401],
  'a key twice': ['GET /api/v1/notify/inapp/u HTTP/1.1\r\nHost: x\r\nx-api-key: a\r\nx-api-key: b\r\n\r\n', 401],
  'a token twice': [
    'GET /api/v1/tenant HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a.b.c\r\nAuthorization: Bearer d.e.f\r\n\r\n',
    401,
  ],
  'bytes beyond ASCII in a key': ['GET /api/v1/notify/inapp/u HTTP/1.1\r\nHost: x\r\nx-api-key: \xff\xfe\r\n\r\n', 401],
};
