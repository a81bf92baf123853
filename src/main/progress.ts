// Progress of long work: a bar on a terminal, a plain line every few seconds elsewhere.

const lineEveryMs = 2000;
const barWidth = 30;

export interface Progress {
  update(done: number, total: number): void;
  /** The last line; stays. */
  end(text: string): void;
}

export function createProgress(label: string, out: NodeJS.WriteStream = process.stderr): Progress {
  let lastAt = 0;
  /** What had been done when it was told first: work that goes on began long before. */
  let first: { readonly done: number; readonly at: number } | null = null;
  return {
    update(done, total) {
      const now = performance.now();
      first ??= { done, at: now };
      if (now - lastAt < (out.isTTY ? 100 : lineEveryMs)) return;
      lastAt = now;
      const share = total === 0 ? 1 : Math.min(done / total, 1);
      const text = `${label}: ${done} of ${total} (${Math.floor(share * 100)} %${paceOf(done - first.done, now - first.at, total - done)})`;
      const filled = Math.round(share * barWidth);
      out.write(out.isTTY ? `\r[${'#'.repeat(filled)}${'.'.repeat(barWidth - filled)}] ${text}\u001B[K` : `${text}\n`);
    },
    end(text) {
      out.write(`${out.isTTY ? '\r\u001B[K' : ''}${label}: ${text}\n`);
    },
  };
}

/** `, 1200/s, 3 s left`; nothing while it isn't known. */
function paceOf(done: number, tookMs: number, left: number): string {
  const rate = tookMs <= 0 ? 0 : Math.round((done / tookMs) * 1000);
  return rate <= 0 ? '' : `, ${rate}/s, ${timeLeft(left / rate)} left`;
}

function timeLeft(seconds: number): string {
  const whole = Math.max(0, Math.ceil(seconds));
  const minutes = Math.floor(whole / 60);
  return minutes === 0 ? `${whole} s` : `${minutes} min ${whole % 60} s`;
}
