import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "./ports.ts";
import { cpuMicroseconds, residentMegabytes } from "./process-figures.ts";

/**
 * How long a server takes from its start to its first 200 of `/status`, what CPU it has used by
 * then, and its memory when it is idle: from the package and from the sources, first with nothing
 * cached, then medians with everything cached. `node bench/start.ts [ROUNDS [CHECKOUT…]]`;
 * checkouts take turns.
 */
const HERE = resolve(import.meta.dirname, "..");
const PROGRAMS = { package: "dist/main.js", sources: "src/main.ts" } as const;

/**
 * A server is idle that has used less than a twentieth of a core for so long, milliseconds: after
 * its first answer it still compares what the policy log keeps.
 */
const QUIET = 600;

/** How long a server may take to answer, milliseconds. */
const LIMIT = 60_000;

interface Figures {
  readonly milliseconds: number;
  readonly cpu: number;
  readonly memory: number;
}

interface Subject {
  readonly name: string;
  readonly main: string;
  /** With a configuration, policies, a store and caches of its own. */
  readonly folder: string;
}

const [rounds = 7, ...checkouts] = process.argv
  .slice(2)
  .map((argument, index) => (index === 0 ? Number(argument) : argument));
if (typeof rounds !== "number" || !Number.isInteger(rounds) || rounds < 1)
  throw new Error("bench: the first argument is the number of rounds, 1 or more");
const roots = checkouts.length === 0 ? [HERE] : checkouts.map((path) => resolve(String(path)));

function isUp(port: number): Promise<boolean> {
  return new Promise((done) => {
    const requested = request(
      { host: "127.0.0.1", port, path: "/status", agent: false },
      (answer) => {
        answer.resume();
        done(answer.statusCode === 200);
      },
    );
    requested.on("error", () => done(false));
    requested.end();
  });
}

/** Milliseconds from `began` to the first 200. */
async function firstAnswer(child: ChildProcess, port: number, began: number): Promise<number> {
  while (!(await isUp(port))) {
    if (child.exitCode !== null)
      throw new Error(`bench: the server has ended with ${child.exitCode}`);
    if (performance.now() - began > LIMIT) throw new Error("bench: the server does not answer");
    await delay(2);
  }
  return performance.now() - began;
}

async function untilIdle(pid: number): Promise<void> {
  let before = Number.NEGATIVE_INFINITY;
  for (let used = 0; used - before >= (QUIET * 1_000) / 20; await delay(QUIET)) {
    before = used === 0 ? before : used;
    used = cpuMicroseconds(pid) ?? 0;
  }
}

/** Starts a server and stops it. */
async function startOnce({ main, folder }: Subject): Promise<Figures> {
  const port = await freePort();
  const argv = [
    main,
    "serve",
    "--config",
    join(folder, "routes.yaml"),
    "--port",
    String(port),
    "--admin-port",
    "0",
  ];
  const began = performance.now();
  const child = spawn(process.execPath, [...argv, "--drain", "1"], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const ended = once(child, "exit");
  const pid = child.pid ?? 0;
  try {
    const milliseconds = await firstAnswer(child, port, began);
    const cpu = (cpuMicroseconds(pid) ?? 0) / 1_000;
    await untilIdle(pid);
    return { milliseconds, cpu, memory: residentMegabytes(pid) ?? 0 };
  } finally {
    child.kill("SIGTERM");
    await ended;
  }
}

function line(name: string, runs: readonly Figures[]): string {
  const sorted = (of: (run: Figures) => number): readonly number[] =>
    runs.map(of).toSorted((left, right) => left - right);
  const median = (of: (run: Figures) => number): string =>
    (sorted(of)[Math.floor(runs.length / 2)] ?? 0).toFixed(0).padStart(6);
  const times = sorted((run) => run.milliseconds);
  const spread = `${times.at(0)?.toFixed(0)} to ${times.at(-1)?.toFixed(0)}`.padStart(14);
  const figures = [
    median((run) => run.milliseconds),
    spread,
    median((run) => run.cpu),
    median((run) => run.memory),
  ];
  return `| ${name.padEnd(24)} | ${figures.join(" | ")} |`;
}

/** Builds the package: what is measured is this state of the sources. */
function prepare(root: string): readonly Subject[] {
  if (spawnSync("npm", ["run", "-s", "build"], { cwd: root, stdio: "inherit" }).status !== 0)
    throw new Error("bench: npm run build failed");
  return Object.entries(PROGRAMS).map(([name, main]) => {
    const folder = mkdtempSync(join(tmpdir(), "signalbox-bench-"));
    cpSync(join(root, "policies"), join(folder, "policies"), { recursive: true });
    cpSync(join(root, "routes.yaml"), join(folder, "routes.yaml"));
    return { name: root === HERE ? name : `${name}, ${root}`, main: join(root, main), folder };
  });
}

const subjects = roots.flatMap(prepare);
try {
  console.log("| start | ms to the first 200 | all runs | CPU ms | idle MB |");
  console.log("| ----- | ------------------: | -------: | -----: | ------: |");
  for (const subject of subjects) {
    console.log(line(`${subject.name}, nothing cached`, [await startOnce(subject)]));
    // The second compiles what the policy log keeps, the third finds everything.
    await startOnce(subject);
  }
  const runs = new Map<Subject, Figures[]>(subjects.map((subject) => [subject, []]));
  for (let round = 0; round < rounds; round += 1)
    for (const [subject, figures] of runs) figures.push(await startOnce(subject));
  for (const [{ name }, figures] of runs) console.log(line(name, figures));
} finally {
  for (const { folder } of subjects) rmSync(folder, { recursive: true, force: true });
}
