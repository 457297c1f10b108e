import { globSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { ROOT } from "../support/imports.ts";
import { ACCEPTED } from "./accepted.ts";
import { AREAS, type Area } from "./areas.ts";
import { describeMutant, mutantsOf, sampleOf, type Mutant } from "./mutants.ts";
import { TreeCopy, type Verdict } from "./tree.ts";

/**
 * `npm run tool -- mutation [src/keys …] [--sample 60] [--seed n] [--seconds 60] [--minutes 60]`:
 * small faults in the sources of the given folders or files, one at a time in a copy of the tree,
 * and whether a test notices each. Prints those that survive; exit 1 where one is not in
 * `accepted.ts`. `--sample` is the number of mutants of each path, 0 all of them. Without a seed
 * the draw is that of every night, whose survivors have been reviewed. `--seconds` is the longest
 * run of tests, `--minutes` of everything; mutants that remain then are counted as not tried.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sample: { type: "string", default: "60" },
    seed: { type: "string", default: "1" },
    seconds: { type: "string", default: "60" },
    minutes: { type: "string", default: "60" },
  },
});
const paths = positionals.length > 0 ? positionals : Object.keys(AREAS);
const [sample, seed, seconds, minutes] = [
  values.sample,
  values.seed,
  values.seconds,
  values.minutes,
].map(Number);
const isValid = sample! >= 0 && Number.isSafeInteger(seed) && seconds! > 0 && minutes! > 0;
const unknown = paths.find(
  (path) => areaOf(path) === undefined || !statSync(join(ROOT, path), { throwIfNoEntry: false }),
);
if (unknown !== undefined || !isValid) {
  process.stderr.write(
    `paths in ${Object.keys(AREAS).join(", ")}; --sample, --seed, --seconds and --minutes: numbers\n`,
  );
  process.exit(2);
}

const ends = performance.now() + minutes! * 60_000;
const counts = { passed: 0, failed: 0, "timed out": 0, accepted: 0, "not tried": 0 };
const copy = new TreeCopy(ROOT);
const testsOf = new Map<Area, Area>();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    copy.close();
    print(`stopped: ${counted()}`);
    process.exit(1);
  });
}
try {
  for (const [index, path] of paths.entries()) {
    const now = performance.now();
    await judgePath(path.replace(/\/$/, ""), now + (ends - now) / (paths.length - index));
    if (counts.passed > 0) process.exitCode = 1;
  }
} finally {
  copy.close();
}

/** @param until no mutant is begun later, on the clock of `performance`. */
async function judgePath(path: string, until: number): Promise<void> {
  const area = areaOf(path)!;
  const all = globSync(path.endsWith(".ts") ? path : `${path}/**/*.ts`, { cwd: ROOT }).flatMap(
    (file) => {
      const source = copy.read(file);
      return mutantsOf(source).map((mutant) => ({
        file,
        mutant,
        ...describeMutant(source, mutant),
      }));
    },
  );
  const drawn =
    sample === 0 ? all : sampleOf(all, ({ file, change }) => `${file} ${change}`, sample!, seed!);
  const known = testsOf.get(area);
  // A test that fails or hangs without a mutant would kill each of them.
  const tests = known?.tests ?? (await copy.passing(area.tests, 300_000));
  const wider = known?.wider ?? (await copy.passing(area.wider, 300_000));
  testsOf.set(area, { tests, wider });
  print(
    `${path}: ${drawn.length} of ${all.length} mutants, seed ${seed}; ${tests.length} and ${wider.length} test files`,
  );
  Object.assign(counts, { passed: 0, failed: 0, "timed out": 0, accepted: 0, "not tried": 0 });
  for (const { file, mutant, line, change } of drawn) {
    if (performance.now() > until) counts["not tried"] += 1;
    else if (ACCEPTED[file]?.[change] !== undefined) counts.accepted += 1;
    else {
      const verdict = await judge(file, mutant, tests, wider);
      counts[verdict] += 1;
      if (verdict !== "failed")
        print(`  ${verdict === "passed" ? "survived" : verdict} ${file}:${line}: ${change}`);
    }
  }
  print(`${path}: ${counted()}`);
}

/**
 * The tests with the file's name or folder find most faults in a second; all others run only where
 * these pass.
 */
async function judge(
  file: string,
  mutant: Mutant,
  tests: readonly string[],
  wider: readonly string[],
): Promise<Verdict> {
  const [folder, name] = [dirname(file).split("/").slice(2).join("/"), basename(file, ".ts")];
  const isNear = (test: string): boolean =>
    (folder !== "" && test.includes(`/${folder}/`)) || basename(test).startsWith(`${name}.`);
  const stages = [tests.filter(isNear), tests.filter((test) => !isNear(test)), wider];
  return copy.withMutant(file, mutant, async () => {
    for (const stage of stages.filter((files) => files.length > 0)) {
      const verdict = await copy.judge(stage, seconds! * 1000);
      if (verdict !== "passed") return verdict;
    }
    return "passed";
  });
}

function counted(): string {
  const { failed, passed, accepted } = counts;
  return `${failed} killed, ${counts["timed out"]} timed out, ${passed} survived, ${accepted} accepted, ${counts["not tried"]} not tried`;
}

function areaOf(path: string): Area | undefined {
  return Object.entries(AREAS).find(([name]) => path === name || path.startsWith(`${name}/`))?.[1];
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
