import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { CASES } from "./cases.ts";
import { Children } from "./children.ts";
import { measure, medians, type Figures } from "./measure.ts";
import { startSignalbox } from "./subjects/signalbox.ts";

/**
 * What a second worker brings: requests a second of `--workers 1` and `--workers 2`, taking turns,
 * as a ratio. Nothing is pinned, so load generator and upstream use the same cores: on few of them
 * the last line says how much more there can be at all. CPU a request does not depend on the number
 * of cores: of all processes, which a second worker should not raise, and of the first process,
 * which is what all workers share (its thread writes the evidence). `npm run bench -- workers`.
 */
const RUNS = 3;

/**
 * Of each worker, before anything is measured: until then V8 compiles. With a fifth of it two
 * workers, of which each gets half, look slower than one.
 */
const WARM_UP = 20_000;

const children = new Children();
const folder = mkdtempSync(join(tmpdir(), "signalbox-bench-"));
try {
  const here = (name: string): string => join(import.meta.dirname, name);
  const upstream = await children.startServer(
    process.execPath,
    [here("static-upstream.ts")],
    null,
    true,
  );
  const generator = children.start(process.execPath, [here("load-generator.ts")], null, true);
  const [testCase] = CASES;
  if (testCase === undefined) throw new Error("bench: no case");
  const counts = [1, 2] as const;
  const figures = new Map<number, Figures[]>();
  const subjects = [];
  for (const count of counts) {
    const home = join(folder, String(count));
    mkdirSync(home);
    const flags = ["--workers", String(count)];
    const {
      origin,
      key,
      process: server,
    } = await startSignalbox(children, upstream.origin, home, null, flags);
    const headers = { authorization: `Bearer ${key}` };
    subjects.push({ count, name: `${count} workers`, origin, headers, pid: server.pid ?? null });
    figures.set(count, []);
  }
  for (let run = 0; run < RUNS; run += 1) {
    for (const subject of subjects) {
      const warmUp = run === 0 ? { warmUp: WARM_UP * subject.count } : {};
      const plan = { scale: 1, openSeconds: 1, load: upstream.process.pid, ...warmUp };
      figures.get(subject.count)?.push(await measure(generator, subject, testCase, plan));
    }
  }
  process.stdout.write(`${testCase.name}\n`);
  for (const [count, runs] of figures) {
    const { cpuMicroseconds, firstCpuMicroseconds, requestsPerSecond } = medians(runs);
    const first =
      count === 1 ? "" : `, ${firstCpuMicroseconds?.toFixed(0)} of them in the first process`;
    process.stdout.write(
      `${count} workers: ${requestsPerSecond.toFixed(0)} requests/s, ${cpuMicroseconds?.toFixed(0)} µs of CPU a request${first}\n`,
    );
  }
  const [one, two] = counts.map((count) => medians(figures.get(count) ?? []));
  const rate = (two?.requestsPerSecond ?? Number.NaN) / (one?.requestsPerSecond ?? Number.NaN);
  const cpu = (two?.cpuMicroseconds ?? Number.NaN) / (one?.cpuMicroseconds ?? Number.NaN);
  process.stdout.write(
    `two over one: ${rate.toFixed(2)} times the requests, ${cpu.toFixed(2)} times the CPU a request\n`,
  );
  const load = one?.loadCpuMicroseconds ?? Number.NaN;
  const most = (availableParallelism() * 1_000_000) / (load + (one?.cpuMicroseconds ?? Number.NaN));
  process.stdout.write(
    `load generator and upstream: ${load.toFixed(0)} µs of CPU a request; ${availableParallelism()} cores can do ${(most / (one?.requestsPerSecond ?? Number.NaN)).toFixed(2)} times the requests of one worker\n`,
  );
} finally {
  await children.stop();
  rmSync(folder, { recursive: true, force: true });
}
