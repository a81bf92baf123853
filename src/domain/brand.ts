// Nominal types: a TenantId can't be passed where a NotificationId is meant.

declare const brand: unique symbol;

export type Brand<T, Name extends string> = T & { readonly [brand]: Name };
