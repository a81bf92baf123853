// The certificates by which Amazon SNS signs: fetched where a message names one that isn't known. Until it is verified anybody has sent it, so fetches are few.

import type { KeyObject } from 'node:crypto';
import { X509Certificate } from 'node:crypto';

import type { TenantId } from '../../domain/ids.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Outbound } from '../../ports/outbound.ts';
import { OutboundError } from '../../ports/outbound.ts';

export interface SnsCertificate {
  readonly key: KeyObject;
  /** UTC ms. */
  readonly validFrom: number;
  readonly validTo: number;
}

export interface SnsDependencies {
  readonly outbound: Pick<Outbound, 'request'>;
  readonly clock: Pick<Clock, 'monotonic'>;
}

export type CertificateOf = (url: string, by: Asking) => Promise<SnsCertificate>;

export interface Asking {
  readonly tenantId: TenantId;
  readonly signal: AbortSignal;
}

/** Amazon changes them every few months, in each region by itself. */
const certificatesMax = 32;
/** At once: a tenant has an account or two. Who comes meanwhile is told to come again, which SNS does for hours. */
const fetchesMax = 16;
const fetchesPerTenantMax = 2;
/** A failure is the answer for so long to whoever names the same. */
const failureKeptMs = 5_000;
const failuresMax = 128;

interface Fetch {
  readonly tenantId: TenantId;
  readonly certificate: Promise<SnsCertificate>;
}

/** What it returns @throws OutboundError where a certificate can't be fetched, or not now */
export function createSnsCertificates({ outbound, clock }: SnsDependencies): CertificateOf {
  const known = new Map<string, SnsCertificate>();
  const fetches = new Map<string, Fetch>();
  const failures = new Map<string, { readonly until: number; readonly error: unknown }>();

  const fetchOnce = async (url: string, signal: AbortSignal): Promise<SnsCertificate> => {
    try {
      const certificate = await fetchCertificate(outbound, url, signal);
      keep(known, url, certificate, certificatesMax);
      return certificate;
    } catch (error) {
      keep(failures, url, { until: clock.monotonic() + failureKeptMs, error }, failuresMax);
      throw error;
    } finally {
      fetches.delete(url);
    }
  };

  return async (url, { tenantId, signal }) => {
    const found = known.get(url) ?? fetches.get(url)?.certificate;
    if (found !== undefined) return found;
    const failure = failures.get(url);
    if (failure !== undefined && failure.until > clock.monotonic()) throw failure.error;
    const ofTenant = [...fetches.values()].filter((fetch) => fetch.tenantId === tenantId).length;
    if (fetches.size >= fetchesMax || ofTenant >= fetchesPerTenantMax)
      throw new OutboundError('network', 'TOO_MANY', 'Other certificates are being fetched.');
    const certificate = fetchOnce(url, signal);
    fetches.set(url, { tenantId, certificate });
    return certificate;
  };
}

/** The oldest goes where there is no room. */
function keep<T>(kept: Map<string, T>, url: string, value: T, max: number): void {
  kept.delete(url);
  const [oldest] = kept.keys();
  if (kept.size >= max && oldest !== undefined) kept.delete(oldest);
  kept.set(url, value);
}

async function fetchCertificate(
  outbound: Pick<Outbound, 'request'>,
  url: string,
  signal: AbortSignal,
): Promise<SnsCertificate> {
  const { status, body } = await outbound.request({ method: 'GET', url, headers: {}, body: null, signal });
  if (status !== 200) throw new OutboundError('network', 'NO_CERTIFICATE', `Amazon answered ${status}.`);
  try {
    const { publicKey: key, validFrom, validTo } = new X509Certificate(body);
    return { key, validFrom: Date.parse(validFrom), validTo: Date.parse(validTo) };
  } catch {
    throw new OutboundError('network', 'NO_CERTIFICATE', 'What Amazon answered is no certificate.');
  }
}
