// Removes what a start under some prefix has registered, from all that asks for subjects: of hidden ones Apicurio keeps a row, and nobody uses a prefix again.
// By name: Apicurio's list of subjects is one page. Removed for good, with what it then takes for schemas of nobody, it would fail who registers one meanwhile.

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
    const answer = await fetch(`${registryUrl}/subjects/${encodeURIComponent(subject)}`, { method: 'DELETE' });
    await answer.arrayBuffer();
  });
}
