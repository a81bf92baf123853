// Jobs waiting for the worker: the owners take turns, so that one's flood doesn't hold up the others.

export interface FairQueue<J> {
  /** False when there is no room, for all or for this owner. */
  push(owner: string, job: J): boolean;
  take(): J | undefined;
  readonly size: number;
}

export function createFairQueue<J>({
  jobsMax,
  jobsPerOwnerMax,
}: {
  readonly jobsMax: number;
  readonly jobsPerOwnerMax: number;
}): FairQueue<J> {
  const waiting = new Map<string, J[]>();
  let size = 0;
  return {
    push(owner, job) {
      const ofOwner = waiting.get(owner);
      if (size >= jobsMax || (ofOwner?.length ?? 0) >= jobsPerOwnerMax) return false;
      if (ofOwner === undefined) waiting.set(owner, [job]);
      else ofOwner.push(job);
      size++;
      return true;
    },
    take() {
      for (const [owner, ofOwner] of waiting) {
        const job = ofOwner.shift();
        waiting.delete(owner);
        if (ofOwner.length > 0) waiting.set(owner, ofOwner);
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
