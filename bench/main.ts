import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Children, chooseCores } from "./children.ts";
import { measure, type Figures } from "./measure.ts";
import { HELP, readOptions, type Options } from "./options.ts";
import { toJson, toMarkdown, type Report } from "./report.ts";
import { startSubjects } from "./subjects.ts";

const RESULTS = join(import.meta.dirname, "results");

async function benchmark(options: Options, children: Children, folder: string): Promise<Report> {
  const cores = chooseCores();
  const upstream = await children.startServer(
    process.execPath,
    [join(import.meta.dirname, "static-upstream.ts")],
    cores.rest,
    true,
  );
  const { subjects, absent } = await startSubjects(
    children,
    upstream.origin,
    folder,
    cores,
    options.peers,
  );
  const generator = children.start(
    process.execPath,
    [join(import.meta.dirname, "load-generator.ts")],
    cores.rest,
    true,
  );
  const failed = new Set<string>();
  for (const line of absent) process.stderr.write(`${line}\n`);
  const plan = options.quick ? { scale: 0.2, openSeconds: 1 } : { scale: 1, openSeconds: 5 };
  const cases = options.cases.map((testCase) => ({
    testCase,
    subjects: subjects.map((subject) => ({ subject: subject.name, runs: new Array<Figures>() })),
  }));
  // Subjects take turns within each case, so that a slow phase of the machine slows all of them.
  for (let run = 1; run <= options.runs; run += 1) {
    for (const { testCase, subjects: results } of cases) {
      for (const subject of subjects) {
        process.stderr.write(`run ${run}/${options.runs}  ${testCase.name}  ${subject.name}\n`);
        const runs = results.find((result) => result.subject === subject.name)?.runs;
        try {
          runs?.push(await measure(generator, subject, testCase, plan));
        } catch (error) {
          if (subject.share === undefined || !(error instanceof Error)) throw error;
          failed.add(`${testCase.name}: ${error.message}; omitted`);
        }
      }
    }
  }
  return { cores, runs: options.runs, quick: options.quick, absent: [...absent, ...failed], cases };
}

function publish(report: Report): void {
  const now = new Date();
  const name = now.toISOString().slice(0, 19).replaceAll(":", "-");
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(join(RESULTS, `${name}.json`), toJson(report, now));
  writeFileSync(join(RESULTS, `${name}.md`), toMarkdown(report, now));
  process.stdout.write(
    `\n${toMarkdown(report, now)}\nwritten to bench/results/${name}.json and .md\n`,
  );
}

/** Gives the exit code. No child and no file outlives it, even after an error. */
async function main(argv: readonly string[]): Promise<number> {
  const options = readOptions(argv);
  if (options === "help") {
    process.stdout.write(HELP);
    return 0;
  }
  if ("problem" in options) {
    process.stderr.write(`bench: ${options.problem}\n\n${HELP}`);
    return 2;
  }
  const children = new Children();
  const folder = mkdtempSync(join(tmpdir(), "signalbox-bench-"));
  const cleanUp = (): void => {
    children.kill();
    rmSync(folder, { recursive: true, force: true });
  };
  process.once("exit", cleanUp);
  for (const [signal, code] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)
    process.once(signal, () => process.exit(code));
  try {
    publish(await benchmark(options, children, folder));
    return 0;
  } catch (error) {
    process.stderr.write(`bench: ${error instanceof Error ? error.message : "failed"}\n`);
    return 1;
  } finally {
    await children.stop();
  }
}

process.exitCode = await main(process.argv.slice(2));
