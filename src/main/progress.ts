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
  const began = performance.now();
  return {
    update(done, total) {
      const now = performance.now();
      if (now - lastAt < (out.isTTY ? 100 : lineEveryMs)) return;
      lastAt = now;
      const share = total === 0 ? 1 : Math.min(done / total, 1);
      const rate = Math.round((done / Math.max(now - began, 1)) * 1000);
      const left = rate === 0 ? '' : `, ${timeLeft((total - done) / rate)} left`;
      const text = `${label}: ${done} of ${total} (${Math.floor(share * 100)} %, ${rate}/s${left})`;
      const filled = Math.round(share * barWidth);
      out.write(out.isTTY ? `\r[${'#'.repeat(filled)}${'.'.repeat(barWidth - filled)}] ${text}\u001B[K` : `${text}\n`);
    },
    end(text) {
      out.write(`${out.isTTY ? '\r\u001B[K' : ''}${label}: ${text}\n`);
    },
  };
}

function timeLeft(seconds: number): string {
  const whole = Math.max(0, Math.ceil(seconds));
  const minutes = Math.floor(whole / 60);
  return minutes === 0 ? `${whole} s` : `${minutes} min ${whole % 60} s`;
}
