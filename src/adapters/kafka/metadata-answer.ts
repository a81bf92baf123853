// Mends from outside what kafkajs makes of a Metadata answer: one partition without a leader, or one topic with an error, makes the whole answer an error.
//
// One topic of one replica whose broker is away was enough, somebody else's too, since the list of all topics is such an answer: nobody learnt any more who
// leads what, so appends whose leaders had moved were refused, reading ended and no process could start, for as long as that broker was away.

import response, { type MetadataAnswer } from 'kafkajs/src/protocol/requests/metadata/v6/response.js';

const mended = Symbol.for('herald.kafkajs.metadata-answer');

/** Once for all connections of the thread; safe to repeat. Version 6 is the newest that kafkajs speaks, and brokers do since 2.0. */
export function mendMetadataAnswer(): void {
  const answers: typeof response & { [mended]?: true } = response;
  if (answers[mended] === true) return;
  const { parse } = answers;
  answers.parse = (answer) => parse(usable(answer));
  answers[mended] = true;
}

/** A partition whose leader can't be told has none, and a topic that can't be told isn't in it; but the error of the only ones that were asked for is the answer. */
function usable(answer: MetadataAnswer): MetadataAnswer {
  const told = answer.topicMetadata.filter(({ topicErrorCode }) => topicErrorCode === 0);
  if (told.length === 0) return answer;
  const topicMetadata = told.map(({ partitionMetadata, ...topic }) => ({
    ...topic,
    partitionMetadata: partitionMetadata.map((partition) =>
      partition.partitionErrorCode === 0 ? partition : { ...partition, partitionErrorCode: 0, leader: -1 },
    ),
  }));
  return { ...answer, topicMetadata };
}
