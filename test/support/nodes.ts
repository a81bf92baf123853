// Several processes of one Herald, each with its roles, on the same engines.

import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';

import type { DataDir, Environment } from './data-dir.ts';
import { freePorts } from './free-ports.ts';
import { heraldCommand, processEnvironment } from './herald.ts';
import { until } from './until.ts';

export interface Readiness {
  readonly status: string;
  readonly dependencies: Readonly<Record<string, string>>;
}

export interface Node {
  readonly operationsUrl: string;
  readonly process: ChildProcess;
  /** stderr so far. */
  logs(): string;
  /** null when its operations port doesn't answer. */
  readiness(): Promise<Readiness | null>;
  stop(): Promise<number | null>;
  kill(): Promise<void>;
}

/** A process of the given roles, which prints no banner. Resolves when it is ready. */
export async function startNode(dataDir: DataDir, environment: Environment, args: readonly string[]): Promise<Node> {
  const node = await spawnNode(dataDir, environment, args);
  await until(async () => (await node.readiness())?.status === 'ready' || node.process.exitCode !== null, {
    timeoutMs: 60_000,
    what: `${args.join(' ')} to be ready; its log: ${node.logs()}`,
  });
  if (node.process.exitCode !== null) throw new Error(`${args.join(' ')} stopped at once:\n${node.logs()}`);
  return node;
}

/** The same without waiting for anything. */
async function spawnNode(dataDir: DataDir, environment: Environment, args: readonly string[]): Promise<Node> {
  const opsPort = await freePorts(1);
  const env = processEnvironment({ PORT: '0', ...dataDir.environment, ...environment, OPS_PORT: String(opsPort) });
  const child = spawn(process.execPath, [...heraldCommand, 'serve', ...args], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let logs = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (logs += text));
  const exited = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  const operationsUrl = `http://127.0.0.1:${opsPort}`;
  return {
    operationsUrl,
    process: child,
    logs: () => logs,
    readiness: () => readinessOf(operationsUrl),
    stop() {
      child.kill('SIGTERM');
      return exited;
    },
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

export async function readinessOf(operationsUrl: string): Promise<Readiness | null> {
  try {
    const response = await fetch(`${operationsUrl}/health/ready`);
    return (await response.json()) as Readiness;
  } catch {
    return null;
  }
}
