// Who has held a shared thread but little of late.

import { expect, it } from '@jest/globals';

import { createLightTenants } from '../../../src/adapters/node/light-tenants.ts';
import type { TenantId } from '../../../src/domain/ids.ts';

const [a, b] = ['tnt_a', 'tnt_b'] as TenantId[] as [TenantId, TenantId];

it('is whoever holds it for less than a twentieth of the time, and again soon after a burst; one tenant’s work is no other’s', () => {
  let now = 0;
  const light = createLightTenants();
  for (let i = 0; i < 1000; i++) {
    light.held(a, 1, now);
    now += 20;
    expect(light.isLight(a, 0, now)).toBe(true);
  }
  for (let i = 0; i < 100; i++) {
    light.held(a, 1, now);
    now += 10;
  }
  expect(light.isLight(a, 0, now)).toBe(false);
  expect(light.isLight(b, 0, now)).toBe(true);
  light.held(b, 60_000, now);
  now += 399;
  expect(light.isLight(b, 0, now)).toBe(false);
  now += 2;
  expect(light.isLight(b, 0, now)).toBe(true);
});

it('counts what it holds right now', () => {
  const light = createLightTenants();
  expect(light.isLight(a, 4, 0)).toBe(true);
  expect(light.isLight(a, 5, 0)).toBe(false);
});

it('remembers so many tenants, those of whom it has heard last', () => {
  const light = createLightTenants();
  light.held(a, 10, 0);
  for (let i = 0; i < 10_000; i++) light.held(`tnt_${i}` as TenantId, 10, 0);
  expect(light.isLight(a, 0, 0)).toBe(true);
  expect(light.isLight('tnt_0' as TenantId, 0, 0)).toBe(false);
});
