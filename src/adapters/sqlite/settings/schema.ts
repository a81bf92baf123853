// The tables of settings.db. Secrets in them are sealed; a tenant's `revision` is the store's when anything of it
// changed last.

export const settingsSchemaSql = `
  CREATE TABLE IF NOT EXISTS store (one INTEGER PRIMARY KEY CHECK (one = 1), revision INTEGER NOT NULL);
  -- From 1: a look since 0 asks for the revision to begin with.
  INSERT INTO store (one, revision) VALUES (1, 1) ON CONFLICT DO NOTHING;

  CREATE TABLE IF NOT EXISTS marks (name TEXT PRIMARY KEY, value TEXT NOT NULL);

  CREATE TABLE IF NOT EXISTS tenants (
    id TEXT PRIMARY KEY,
    subject TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    email TEXT,
    created_at INTEGER NOT NULL,
    rate_limit INTEGER,
    rate_window_ms INTEGER,
    sealed_webhook_secret TEXT NOT NULL,
    revision INTEGER NOT NULL
  );
  CREATE INDEX IF NOT EXISTS tenants_by_revision ON tenants (revision, id);

  -- Of tenants that an operator gave another share than everybody has.
  CREATE TABLE IF NOT EXISTS tenant_shares (
    tenant_id TEXT PRIMARY KEY REFERENCES tenants (id),
    weight INTEGER NOT NULL,
    in_flight_max INTEGER
  );

  -- Of tenants whose notifications are kept for less long than everybody's.
  CREATE TABLE IF NOT EXISTS tenant_retentions (tenant_id TEXT PRIMARY KEY REFERENCES tenants (id), kept_ms INTEGER NOT NULL);

  CREATE TABLE IF NOT EXISTS api_keys (
    hash TEXT PRIMARY KEY,
    tenant_id TEXT NOT NULL REFERENCES tenants (id),
    sealed_key TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER
  );
  CREATE INDEX IF NOT EXISTS api_keys_by_tenant ON api_keys (tenant_id, created_at);

  CREATE TABLE IF NOT EXISTS named_keys (
    id TEXT PRIMARY KEY,
    tenant_id TEXT NOT NULL REFERENCES tenants (id),
    name TEXT NOT NULL,
    scopes TEXT NOT NULL,
    prefix TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE,
    sealed_key TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER
  );
  CREATE INDEX IF NOT EXISTS named_keys_by_tenant ON named_keys (tenant_id, created_at, id);

  CREATE TABLE IF NOT EXISTS providers (
    tenant_id TEXT NOT NULL REFERENCES tenants (id),
    channel TEXT NOT NULL,
    provider TEXT NOT NULL,
    sealed_api_key TEXT NOT NULL,
    sealed_previous_api_key TEXT,
    previous_until INTEGER,
    config TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, channel)
  );
  CREATE INDEX IF NOT EXISTS providers_by_previous_until ON providers (previous_until) WHERE previous_until IS NOT NULL;

  -- The channels' second providers: a table of their own, so that a version without them reads the first ones as ever.
  CREATE TABLE IF NOT EXISTS fallback_providers (
    tenant_id TEXT NOT NULL REFERENCES tenants (id),
    channel TEXT NOT NULL,
    provider TEXT NOT NULL,
    sealed_api_key TEXT NOT NULL,
    sealed_previous_api_key TEXT,
    previous_until INTEGER,
    config TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, channel)
  );

  -- What providers' reports are verified by; beside the providers of former versions, which know no column of it.
  CREATE TABLE IF NOT EXISTS callback_secrets (
    tenant_id TEXT NOT NULL REFERENCES tenants (id),
    channel TEXT NOT NULL,
    role TEXT NOT NULL,
    sealed_secret TEXT NOT NULL,
    PRIMARY KEY (tenant_id, channel, role)
  );

  -- What signed before a provider's previous key, and signs still; beside the providers of former versions, which know that key alone.
  CREATE TABLE IF NOT EXISTS earlier_keys (
    tenant_id TEXT NOT NULL REFERENCES tenants (id),
    channel TEXT NOT NULL,
    role TEXT NOT NULL,
    sealed_key TEXT NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, channel, role, sealed_key)
  );
  CREATE INDEX IF NOT EXISTS earlier_keys_by_until ON earlier_keys (until);

  -- Of providers that are not called for a while; without a tenant's row, since nothing else depends on it.
  CREATE TABLE IF NOT EXISTS breakers (
    tenant_id TEXT NOT NULL,
    channel TEXT NOT NULL,
    role TEXT NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, channel, role)
  );

  CREATE TABLE IF NOT EXISTS templates (
    id TEXT PRIMARY KEY,
    tenant_id TEXT NOT NULL REFERENCES tenants (id),
    name TEXT NOT NULL,
    channel TEXT NOT NULL,
    subject TEXT,
    body TEXT NOT NULL,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (tenant_id, name)
  );
  -- Beside the templates of former versions, which know no column of it.
  CREATE TABLE IF NOT EXISTS strict_templates (template_id TEXT PRIMARY KEY REFERENCES templates (id) ON DELETE CASCADE);
  -- What a template was before: it goes with the template.
  CREATE TABLE IF NOT EXISTS template_versions (
    template_id TEXT NOT NULL REFERENCES templates (id) ON DELETE CASCADE,
    version INTEGER NOT NULL,
    name TEXT NOT NULL,
    subject TEXT,
    body TEXT NOT NULL,
    strict INTEGER NOT NULL,
    saved_at INTEGER NOT NULL,
    PRIMARY KEY (template_id, version)
  );
  CREATE INDEX IF NOT EXISTS templates_by_age ON templates (tenant_id, created_at, id);`;

/** The tables that a file of a version before this one lacks, empty and of the connection alone: so what only reads the file finds none of their rows. */
export function lackingTablesSql(there: ReadonlySet<string>): string {
  const tables = [...settingsSchemaSql.matchAll(/CREATE TABLE IF NOT EXISTS (\w+) \(.*?\);$/gms)];
  const lacking = tables.filter(([, name = '']) => !there.has(name));
  return lacking.map(([sql]) => sql.replace('CREATE TABLE', 'CREATE TEMP TABLE')).join('\n');
}
