// Jobs waiting for the worker: the sources take turns, so that one template's flood doesn't hold up the others.

export interface FairQueue<J> {
  /** False when there is no room, for all or for this source. */
  push(source: string, job: J): boolean;
  take(): J | undefined;
  readonly size: number;
}

export function createFairQueue<J>({
  jobsMax,
  jobsPerSourceMax,
}: {
  readonly jobsMax: number;
  readonly jobsPerSourceMax: number;
}): FairQueue<J> {
  const waiting = new Map<string, J[]>();
  let size = 0;
  return {
    push(source, job) {
      const ofSource = waiting.get(source);
      if (size >= jobsMax || (ofSource?.length ?? 0) >= jobsPerSourceMax) return false;
      if (ofSource === undefined) waiting.set(source, [job]);
      else ofSource.push(job);
      size++;
      return true;
    },
    take() {
      for (const [source, ofSource] of waiting) {
        const job = ofSource.shift();
        waiting.delete(source);
        if (ofSource.length > 0) waiting.set(source, ofSource);
        if (job !== undefined) size--;
        return job;
      }
      return undefined;
    },
    get size() {
      return size;
    },
  };
}
