// What templates were before, in settings.db: the newest of them, gone with their template.

import type { TemplateId } from '../../../domain/ids.ts';
import type { TemplateVersion } from '../../../domain/tenant.ts';
import { keptVersions } from '../../../domain/tenant.ts';
import type { Connection } from '../connection.ts';
import { number, templateVersionOf } from './rows.ts';

/** Newest first. */
export function earlierVersions(connection: Connection, id: TemplateId): TemplateVersion[] {
  const sql = 'SELECT * FROM template_versions WHERE template_id = ? ORDER BY version DESC';
  return connection.statement(sql).all(id).map(templateVersionOf);
}

/** Those that are too many or too long with it go, the oldest first. */
export function keepVersion(connection: Connection, id: TemplateId, version: TemplateVersion): void {
  insertVersion(connection, id, version);
  const sizes = `SELECT version, octet_length(body) + coalesce(octet_length(subject), 0) AS bytes FROM template_versions
    WHERE template_id = ? ORDER BY version DESC`;
  const rows = connection.statement(sizes).all(id);
  const gone = rows.slice(keptVersions(rows.map((row) => number(row, 'bytes'))));
  const sql = 'DELETE FROM template_versions WHERE template_id = ? AND version = ?';
  for (const row of gone) connection.statement(sql).run(id, number(row, 'version'));
}

export function insertVersion(
  connection: Connection,
  id: TemplateId,
  { version, name, subject, body, strict, savedAt }: TemplateVersion,
): void {
  const sql = `INSERT INTO template_versions (template_id, version, name, subject, body, strict, saved_at)
    VALUES (?, ?, ?, ?, ?, ?, ?)`;
  connection.statement(sql).run(id, version, name, subject, body, strict ? 1 : 0, savedAt);
}
