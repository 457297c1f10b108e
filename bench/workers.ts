import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CASES } from "./cases.ts";
import { Children } from "./children.ts";
import { measure } from "./measure.ts";
import { startSignalbox } from "./subjects/signalbox.ts";

/**
 * What a second worker brings: requests a second of `--workers 1` and `--workers 2`, taking turns, as a ratio. Nothing is pinned: load generator and
 * upstream want cores of their own, so on fewer than five the ratio says less than there is. `npm run bench:workers`.
 */
const RUNS = 3;
const PLAN = { scale: 0.2, openSeconds: 1 };

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

const children = new Children();
const folder = mkdtempSync(join(tmpdir(), "signalbox-bench-"));
try {
  const here = (name: string): string => join(import.meta.dirname, name);
  const upstream = await children.startServer(process.execPath, [here("static-upstream.ts")], null, true);
  const generator = children.start(process.execPath, [here("load-generator.ts")], null, true);
  const [testCase] = CASES;
  if (testCase === undefined) throw new Error("bench: no case");
  const counts = [1, 2] as const;
  const rates = new Map<number, number[]>();
  const subjects = [];
  for (const count of counts) {
    const home = join(folder, String(count));
    mkdirSync(home);
    const flags = ["--workers", String(count)];
    const { origin, key } = await startSignalbox(children, upstream.origin, home, null, flags);
    subjects.push({ count, name: `${count} workers`, origin, headers: { authorization: `Bearer ${key}` }, pid: null });
    rates.set(count, []);
  }
  for (let run = 0; run < RUNS; run += 1) {
    for (const subject of subjects) {
      const { requestsPerSecond } = await measure(generator, subject, testCase, PLAN);
      rates.get(subject.count)?.push(requestsPerSecond);
    }
  }
  const [one = Number.NaN, two = Number.NaN] = counts.map((count) => median(rates.get(count) ?? []));
  process.stdout.write(
    `${testCase.name}: ${one.toFixed(0)} requests/s with one worker, ${two.toFixed(0)} with two: ${(two / one).toFixed(2)} times\n`,
  );
} finally {
  await children.stop();
  rmSync(folder, { recursive: true, force: true });
}
