// `npm run bench -- NAME …` and `npm run tool -- NAME …`: the programs of bench/ and tools/.
import { spawnSync } from "node:child_process";
import { resolve } from "node:path";

const PROGRAMS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  bench: {
    gateways: "bench/main.ts",
    stages: "bench/stages/main.ts",
    start: "bench/start.ts",
    workers: "bench/workers.ts",
    translation: "bench/translation.ts",
    limits: "bench/limits.ts",
    fallback: "bench/fallback.ts",
    evidence: "bench/evidence.ts",
    decisions: "bench/decisions/decisions.ts",
    summary: "bench/summary/main.ts",
    "summary-postgres": "bench/summary/postgres.ts",
    policies: "bench/policy-compile.ts",
    evaluation: "bench/policy-evaluation.ts",
    simulate: "bench/simulate.ts",
    soak: "bench/soak.ts",
  },
  tool: {
    console: "tools/console/build.ts",
    pictures: "tools/pictures/main.ts",
    demo: "tools/pictures/demo.ts",
    screenshots: "tools/console/screenshots.ts",
    readability: "tools/readability/main.ts",
    notices: "tools/notices/write.ts",
    release: "tools/release/release.ts",
    fuzz: "test/fuzz/main.ts",
    mutation: "test/mutation/main.ts",
    conformance: "test/conformance/main.ts",
  },
};

const [kind = "", ...given] = process.argv.slice(2);
const programs = PROGRAMS[kind] ?? {};
// Options alone are those of the comparison with other gateways.
const [name = "", ...argv] =
  kind === "bench" && !(given[0] ?? "-").match(/^\w/) ? ["gateways", ...given] : given;
const program = Object.hasOwn(programs, name) ? programs[name] : undefined;
if (program === undefined) {
  process.stderr.write(
    `npm run ${kind} -- ${name}: there is no such program; one of ${Object.keys(programs).join(", ")}\n`,
  );
  process.exit(2);
}
const path = resolve(import.meta.dirname, "..", program);
const { status } = spawnSync(process.execPath, [...process.execArgv, path, ...argv], {
  stdio: "inherit",
});
process.exit(status ?? 1);
