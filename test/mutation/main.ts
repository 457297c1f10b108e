import { globSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { ROOT } from "../support/imports.ts";
import { AREAS } from "./areas.ts";
import { describeMutant, mutantsOf, sampleOf, type Mutant } from "./mutants.ts";
import { TreeCopy, type Verdict } from "./tree.ts";

/**
 * `npm run test:mutation -- [src/keys …] [--sample 100] [--seed n] [--seconds 60]`: small faults in the sources of
 * the given folders or files, one at a time in a copy of the tree, and whether a test notices each. Prints those that
 * survive. `--sample` is the number of mutants of each path, 0 all of them; the same seed draws the same mutants.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sample: { type: "string", default: "100" },
    seed: { type: "string" },
    seconds: { type: "string", default: "60" },
  },
});
const paths = positionals.length > 0 ? positionals : Object.keys(AREAS).map((name) => `src/${name}`);
const [sample, seconds] = [Number(values.sample), Number(values.seconds)];
const seed = values.seed === undefined ? Math.floor(Date.now() / 1000) : Number(values.seed);
const unknown = paths.find(
  (path) => areaOf(path) === undefined || !statSync(join(ROOT, path), { throwIfNoEntry: false }),
);
if (unknown !== undefined || !(sample >= 0) || !(seconds > 0) || !Number.isSafeInteger(seed)) {
  const areas = Object.keys(AREAS).map((name) => `src/${name}`);
  process.stderr.write(`paths in ${areas.join(", ")}; --sample, --seconds and --seed: numbers\n`);
  process.exit(2);
}

const counts = { passed: 0, failed: 0, "timed out": 0 };
const copy = new TreeCopy(ROOT);
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    copy.close();
    print(`stopped: ${counted()}`);
    process.exit(1);
  });
}
try {
  for (const path of paths) await judgePath(path.replace(/\/$/, ""));
} finally {
  copy.close();
}

async function judgePath(path: string): Promise<void> {
  const area = areaOf(path)!;
  const all = globSync(path.endsWith(".ts") ? path : `${path}/**/*.ts`, { cwd: ROOT }).flatMap((file) =>
    mutantsOf(copy.read(file)).map((mutant) => ({ file, mutant })),
  );
  const drawn = sample === 0 ? all : sampleOf(all, sample, seed);
  // A test that fails or hangs without a mutant would kill each of them.
  const [tests, wider] = [await copy.passing([area.tests], 300_000), await copy.passing(area.wider, 300_000)];
  print(
    `${path}: ${drawn.length} of ${all.length} mutants, seed ${seed}; ${tests.length} and ${wider.length} test files`,
  );
  Object.assign(counts, { passed: 0, failed: 0, "timed out": 0 });
  for (const { file, mutant } of drawn) {
    const verdict = await judge(file, mutant, tests, wider);
    counts[verdict] += 1;
    if (verdict !== "failed") {
      print(`  ${verdict === "passed" ? "survived" : verdict} ${file}:${describeMutant(copy.read(file), mutant)}`);
    }
  }
  print(`${path}: ${counted()}`);
}

/** The tests with the file's name or folder find most faults in a second; all others run only where these pass. */
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
      const verdict = await copy.judge(stage, seconds * 1000);
      if (verdict !== "passed") return verdict;
    }
    return "passed";
  });
}

function counted(): string {
  return `${counts.failed} killed, ${counts["timed out"]} timed out, ${counts.passed} survived`;
}

function areaOf(path: string): (typeof AREAS)[string] | undefined {
  const [source, name = ""] = path.split("/");
  return source === "src" && Object.hasOwn(AREAS, name) ? AREAS[name] : undefined;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
