import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CASES } from "./cases.ts";
import { Children } from "./children.ts";
import { measure, medians, type Figures } from "./measure.ts";
import { startSignalbox } from "./subjects/signalbox.ts";

/**
 * What a second worker brings: requests a second of `--workers 1` and `--workers 2`, taking turns, as a ratio. Nothing is pinned: load generator and
 * upstream want cores of their own, so on fewer than five the ratio says less than there is. CPU a request does not depend on the number of cores: of
 * all processes, which a second worker should not raise, and of the first process, which is what all workers share (its thread writes the evidence).
 * `npm run bench:workers`.
 */
const RUNS = 3;
const PLAN = { scale: 0.2, openSeconds: 1 };

const children = new Children();
const folder = mkdtempSync(join(tmpdir(), "signalbox-bench-"));
try {
  const here = (name: string): string => join(import.meta.dirname, name);
  const upstream = await children.startServer(process.execPath, [here("static-upstream.ts")], null, true);
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
    const { origin, key, process: server } = await startSignalbox(children, upstream.origin, home, null, flags);
    const headers = { authorization: `Bearer ${key}` };
    subjects.push({ count, name: `${count} workers`, origin, headers, pid: server.pid ?? null });
    figures.set(count, []);
  }
  for (let run = 0; run < RUNS; run += 1) {
    for (const subject of subjects) {
      figures.get(subject.count)?.push(await measure(generator, subject, testCase, PLAN));
    }
  }
  process.stdout.write(`${testCase.name}\n`);
  for (const [count, runs] of figures) {
    const { cpuMicroseconds, firstCpuMicroseconds, requestsPerSecond } = medians(runs);
    const first = count === 1 ? "" : `, ${firstCpuMicroseconds?.toFixed(0)} of them in the first process`;
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
} finally {
  await children.stop();
  rmSync(folder, { recursive: true, force: true });
}
