import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";

/** Where processes run. `null` leaves it to the system. */
export interface Cores {
  /** For the process under test alone. */
  readonly subject: string | null;
  /** For the load generator and the upstream. */
  readonly rest: string | null;
}

/**
 * Pins the subject to the last core and everything else to the others; no pinning without taskset
 * or with one core.
 */
export function chooseCores(): Cores {
  const none = { subject: null, rest: null };
  if (spawnSync("taskset", ["--version"]).status !== 0) return none;
  const list = /^Cpus_allowed_list:\s*(\S+)/m.exec(readOrEmpty("/proc/self/status"))?.[1] ?? "";
  const cores = list.split(",").flatMap(expandRange);
  const last = cores.at(-1);
  return last === undefined || cores.length < 2
    ? none
    : { subject: String(last), rest: cores.slice(0, -1).join(",") };
}

function expandRange(range: string): readonly number[] {
  const [first, last = first] = range.split("-").map(Number);
  if (first === undefined || last === undefined || Number.isNaN(first)) return [];
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // Not Linux: there is no such file, and nothing is pinned.
    return "";
  }
}

/** Milliseconds that a child may take to report that it listens. */
const START_LIMIT = 60_000;

export interface Listening {
  readonly process: ChildProcess;
  readonly origin: string;
}

/** The processes of one benchmark, all of which end with it. */
export class Children {
  readonly #children = new Set<ChildProcess>();

  /**
   * Starts a program; its standard error is passed on. `channel` opens one for messages, on whose
   * closing our own programs exit.
   */
  start(
    command: string,
    argv: readonly string[],
    core: string | null,
    channel: boolean,
  ): ChildProcess {
    const [program, given] =
      core === null ? [command, argv] : ["taskset", ["-c", core, command, ...argv]];
    const child = spawn(program, [...given], {
      stdio: ["ignore", "pipe", "inherit", ...(channel ? (["ipc"] as const) : [])],
    });
    this.#children.add(child);
    child.once("exit", () => this.#children.delete(child));
    return child;
  }

  /** Starts a program that prints `listening on http://…` when it does. */
  async startServer(
    command: string,
    argv: readonly string[],
    core: string | null,
    channel: boolean,
  ): Promise<Listening> {
    const child = this.start(command, argv, core, channel);
    const origin = await new Promise<string>((resolve, reject) => {
      let text = "";
      const limit = setTimeout(
        () =>
          reject(new Error(`${argv[0] ?? command} did not listen within ${START_LIMIT / 1_000} s`)),
        START_LIMIT,
      );
      child.once("error", reject);
      child.once("exit", (code) =>
        reject(new Error(`${argv[0] ?? command} ended with code ${code} before it listened`)),
      );
      child.stdout?.setEncoding("utf8").on("data", (piece: string) => {
        text += piece;
        const found = /listening on (http:\/\/[\w.:[\]]+)/.exec(text)?.[1];
        if (found === undefined) return;
        clearTimeout(limit);
        resolve(found);
      });
    });
    // Read to the end of its life, or it would block once the pipe is full.
    child.stdout?.resume();
    return { process: child, origin };
  }

  /** Signals every child to end, and kills those that have not ended after five seconds. */
  async stop(): Promise<void> {
    await Promise.all(
      [...this.#children].map(async (child) => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const ended = new Promise((resolve) => {
          child.once("exit", resolve);
        });
        child.kill("SIGTERM");
        const force = setTimeout(() => child.kill("SIGKILL"), 5_000);
        await ended;
        clearTimeout(force);
      }),
    );
  }

  /** For the last moment of our own process, when nothing can be waited for. */
  kill(): void {
    for (const child of this.#children) child.kill("SIGKILL");
  }
}
