// How a text would render with data, as the API does it: anew whenever whoever types either rests.

import { useEffect, useMemo, useState } from 'preact/hooks';

import { call } from '../../api.ts';
import { dataOf } from '../../ui/json-data.ts';
import type { Answered } from '../../ui/use-answer.ts';
import { useAnswer } from '../../ui/use-answer.ts';
import type { Answer, Template } from '../../wire.ts';

export type Text = Pick<Template, 'name' | 'channel' | 'subject' | 'body' | 'strict'>;

export interface Previewed extends Answered<Answer<'/templates/preview', 'post'>> {
  /** What is wrong with the JSON; null: nothing. */
  readonly dataProblem: string | null;
  /** What the API says of a part of the text: its sentence has line and column. */
  fieldProblem(path: 'subject' | 'body'): string | null;
}

const restMs = 250;

/** @param dataText JSON as it is typed; what is no JSON leaves the former data */
export function usePreview({ channel, subject, body }: Text, dataText: string): Previewed {
  const { data, problem: dataProblem } = useMemo(() => dataOf(dataText), [dataText]);
  const [asked, setAsked] = useState(() => ({ channel, subject, body, data: data ?? {}, round: 0 }));
  useEffect(() => {
    if (dataProblem !== null) return undefined;
    const rest = () =>
      setAsked((former) => {
        const next = { channel, subject, body, data: data ?? {} };
        const isSame =
          former.channel === channel && former.subject === subject && former.body === body && former.data === next.data;
        return isSame ? former : { ...next, round: former.round + 1 };
      });
    const timer = setTimeout(rest, restMs);
    return () => clearTimeout(timer);
  }, [channel, subject, body, data, dataProblem]);
  const answered = useAnswer(
    (signal) => {
      const { round: _, ...text } = asked;
      return call('post', '/templates/preview', { body: text, signal });
    },
    '',
    asked.round,
  );
  return {
    ...answered,
    dataProblem,
    fieldProblem: (path) => answered.problem?.details.find((detail) => detail.path === path)?.message ?? null,
  };
}
