// Removes what a start under some prefix has registered. By name: Apicurio's list of subjects is one page, and of what is deleted as well.

import { subjectOf, topicsOfType } from '../../src/adapters/kafka/subjects.ts';
import { createCodec } from '../../src/codec/index.ts';
import type { EventType } from '../../src/domain/events.ts';
import { inParallel } from './posting.ts';

const atOnce = 4;

export async function removeSubjects(registryUrl: string, prefix: string): Promise<void> {
  const subjects = createCodec()
    .newestSchemas()
    .flatMap((schema) => topicsOfType(schema.type as EventType).map((topic) => subjectOf(`${prefix}${topic}`, schema)));
  await inParallel(subjects, atOnce, async (subject) => {
    const url = `${registryUrl}/subjects/${encodeURIComponent(subject)}`;
    const { ok } = await fetch(url, { method: 'DELETE' });
    // The first only hides it.
    if (ok) await fetch(`${url}?permanent=true`, { method: 'DELETE' });
  });
}
