import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startMock, type MockServer } from "../mock/server.ts";
import { ask } from "../test/chaos/ask.ts";
import { COLUMNS, type Column } from "../test/chaos/columns.ts";
import { fateOf, isWrongSuccess, type Undamaged } from "../test/chaos/judge.ts";
import { CELLS, chaosRoutes, healthyRoute, type Cell } from "../test/chaos/routes.ts";
import { undamagedOf } from "../test/chaos/run.ts";
import { residentMegabytes } from "./process-figures.ts";

const ROOT = join(import.meta.dirname, "..");
const MAIN = join(ROOT, "src/main.ts");

/** Requests under way at once. */
const AT_ONCE = 32;

/**
 * A table of all cells would be most of the memory that is measured; every seventh has all surfaces
 * and nearly all faults.
 */
const SOAKED = CELLS.filter((_cell, index) => index % 7 === 0);

/** Share of requests whose provider is well: most are, in life. */
const WELL = 0.5;

/** Share of the time that does not count: caches fill and code is compiled. */
const WARM_UP = 0.3;

/**
 * Minutes below which the slope is printed and not judged: a heap moves more in a minute than a
 * leak does in ten.
 */
const SHORTEST_JUDGED = 5;

/**
 * Old space of the server, MB. Left to itself V8 takes 10 MB a minute before it collects, which
 * hides what is lost. A leak of objects shows as growth towards this bound, and ends the server
 * beyond it; one outside the heap shows as a slope.
 */
const HEAP = 128;

/** Milliseconds between two looks at the memory. */
const SAMPLING = 1_000;

const HELP = `Usage: npm run bench -- soak [options]

Calls a server for minutes, over every surface, with random faults of test/chaos at its providers, and measures its memory.
The server's heap is bounded at ${HEAP} MB, or collection would be put off for longer than anybody looks.

  --minutes N   how long, 0.1 to 1440 (default: 10)
  --limit MB    most growth of resident memory a minute after the warm-up (default: 1); judged from ${SHORTEST_JUDGED} minutes on
  --help        this text

Exit codes: 0 all was well; 1 memory grew, a success was not the whole answer, a request hung, or the server failed; 2 usage.
`;

interface Options {
  readonly minutes: number;
  /** Megabytes a minute. */
  readonly limit: number;
}

function readOptions(argv: readonly string[]): Options | "help" | null {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        minutes: { type: "string", default: "10" },
        limit: { type: "string", default: "1" },
        help: { type: "boolean", default: false },
      },
    });
    if (values.help) return "help";
    const [minutes, limit] = [Number(values.minutes), Number(values.limit)];
    return minutes >= 0.1 && minutes <= 1_440 && limit > 0 ? { minutes, limit } : null;
  } catch {
    return null;
  }
}

interface Subject {
  readonly process: ChildProcess;
  readonly url: string;
  readonly key: string;
  /** Lines of standard error since it listens. */
  readonly complaints: readonly string[];
}

/** Starts a server as people run it, in a folder of its own. */
async function startServer(folder: string, upstream: string): Promise<Subject> {
  const database = join(folder, "signalbox.db");
  cpSync(join(ROOT, "policies"), join(folder, "policies"), { recursive: true });
  writeFileSync(join(folder, "routes.yaml"), JSON.stringify(chaosRoutes(upstream, SOAKED)));
  const grants = [
    "--workspace",
    "chaos",
    "--scopes",
    "inference",
    "--owner",
    "soak",
    "--expires",
    "2d",
    "--quiet",
  ];
  const made = spawnSync(
    process.execPath,
    [MAIN, "keys", "create", "--database", database, ...grants],
    {
      encoding: "utf8",
    },
  );
  if (made.status !== 0) throw new Error(`signalbox keys create failed: ${made.stderr.trim()}`);
  const files = [
    "--config",
    join(folder, "routes.yaml"),
    "--database",
    database,
    "--cache",
    join(folder, "cache"),
  ];
  const child = spawn(
    process.execPath,
    [
      `--max-old-space-size=${HEAP}`,
      MAIN,
      "serve",
      ...files,
      "--port",
      "0",
      "--admin-port",
      "0",
      "--no-watch",
      "--drain",
      "5",
    ],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  const complaints: string[] = [];
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    for (const line of text.split("\n")) if (line !== "") complaints.push(line);
  });
  const url = await new Promise<string>((resolve, reject) => {
    let text = "";
    child.once("exit", (code) =>
      reject(new Error(`the server ended with code ${code} before it listened`)),
    );
    child.stdout.setEncoding("utf8").on("data", (piece: string) => {
      text += piece;
      const found = /listening on (http:\/\/[\w.:[\]]+)/.exec(text)?.[1];
      if (found !== undefined) resolve(found);
    });
  });
  child.stdout.resume();
  // Its first lines are about the configuration.
  complaints.length = 0;
  return { process: child, url, key: made.stdout.trim(), complaints };
}

interface Tally {
  readonly fates: Map<string, number>;
  readonly wrong: Map<string, number>;
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function oneOf<Item>(items: readonly Item[]): Item {
  const item = items[Math.floor(Math.random() * items.length)];
  if (item === undefined) throw new Error("soak: nothing to choose from");
  return item;
}

async function requestOnce(
  subject: Subject,
  undamaged: ReadonlyMap<string, Undamaged>,
  tally: Tally,
): Promise<void> {
  const cell = Math.random() < WELL ? wellCell(oneOf(COLUMNS)) : oneOf(SOAKED);
  const answer = await ask(subject.url, subject.key, cell.column, cell.id);
  const whole = undamaged.get(cell.column.id);
  if (whole === undefined) throw new Error("soak: no undamaged answer");
  count(tally.fates, answer.broken ?? fateOf(cell, answer));
  const isWell = cell.id === healthyRoute(cell.column);
  const wrong =
    answer.broken !== null
      ? answer.broken
      : isWrongSuccess(cell, answer, whole)
        ? "wrong success"
        : isWell && fateOf(cell, answer) !== "answered"
          ? "a failure where nothing was wrong"
          : null;
  if (wrong !== null) count(tally.wrong, `${wrong}: ${cell.column.id}, ${cell.fault.name}`);
}

function wellCell(column: Column): Cell {
  const fault = {
    name: "nothing wrong",
    settings: [],
    alone: "whole",
    withFallback: "whole",
    silent: false,
    repeats: false,
    losesUsage: false,
  } as const;
  return { id: healthyRoute(column), column, fault, hasFallback: false };
}

interface Sample {
  /** Minutes since the start. */
  readonly at: number;
  readonly megabytes: number;
}

/** Least squares; megabytes a minute. */
function slopeOf(samples: readonly Sample[]): number {
  const mean = (of: (sample: Sample) => number): number =>
    samples.reduce((sum, sample) => sum + of(sample), 0) / samples.length;
  const [time, memory] = [mean(({ at }) => at), mean(({ megabytes }) => megabytes)];
  const over = samples.reduce(
    (sum, { at, megabytes }) => sum + (at - time) * (megabytes - memory),
    0,
  );
  const under = samples.reduce((sum, { at }) => sum + (at - time) ** 2, 0);
  return under === 0 ? 0 : over / under;
}

/** Whole megabytes, a number for each minute: shows whether a slope is a leak or one step. */
function minuteMeans(samples: readonly Sample[]): readonly string[] {
  const minutes = Map.groupBy(samples, ({ at }) => Math.floor(at));
  return [...minutes.values()].map((group) =>
    (group.reduce((sum, { megabytes }) => sum + megabytes, 0) / group.length).toFixed(0),
  );
}

interface Soaked {
  readonly samples: readonly Sample[];
  readonly tally: Tally;
}

async function soak(subject: Subject, minutes: number): Promise<Soaked> {
  const pairs = COLUMNS.map(async (column): Promise<[string, Undamaged]> => [
    column.id,
    await undamagedOf(subject.url, subject.key, column),
  ]);
  const undamaged = new Map(await Promise.all(pairs));
  const tally: Tally = { fates: new Map(), wrong: new Map() };
  const samples: Sample[] = [];
  const startedAt = performance.now();
  const elapsed = (): number => (performance.now() - startedAt) / 60_000;
  const look = (): void => {
    const megabytes = residentMegabytes(subject.process.pid ?? 0);
    if (megabytes !== null) samples.push({ at: elapsed(), megabytes });
  };
  look();
  const timer = setInterval(look, SAMPLING);
  const isOn = (): boolean => elapsed() < minutes && subject.process.exitCode === null;
  const worker = async (): Promise<void> => {
    while (isOn()) await requestOnce(subject, undamaged, tally);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker)).finally(() => clearInterval(timer));
  look();
  return { samples, tally };
}

/** Ends the server as an operator would; its exit code, or `null` where it had to be killed. */
async function stop({ process: child }: Subject): Promise<number | null> {
  if (child.exitCode !== null) return child.exitCode;
  const ended = new Promise<number | null>((resolve) => {
    child.once("exit", (code) => resolve(code));
  });
  child.kill("SIGTERM");
  const force = setTimeout(() => child.kill("SIGKILL"), 15_000);
  return ended.finally(() => clearTimeout(force));
}

/** Prints the result; returns whether the run passed. */
function report(
  { samples, tally }: Soaked,
  subject: Subject,
  code: number | null,
  options: Options,
): boolean {
  const print = (line: string): void => void process.stdout.write(`${line}\n`);
  const counted = samples.filter(({ at }) => at >= options.minutes * WARM_UP);
  const slope = slopeOf(counted);
  const shown = (sample: Sample | undefined): string =>
    sample === undefined ? "unknown" : sample.megabytes.toFixed(1);
  print(
    `resident memory, MB: ${shown(samples[0])} at the start, ${shown(counted[0])} warm, ${shown(samples.at(-1))} at the end`,
  );
  print(`each minute's mean: ${minuteMeans(samples).join(" ")}`);
  print(`slope after the warm-up: ${slope.toFixed(2)} MB a minute (limit ${options.limit})`);
  for (const [name, number] of tally.fates) print(`${name}: ${number}`);
  for (const [name, number] of tally.wrong) print(`WRONG ${name}: ${number}`);
  print(`lines on the server's standard error: ${subject.complaints.length}`);
  for (const line of subject.complaints.slice(0, 10)) print(`  ${line}`);
  print(`the server's exit code: ${code ?? "none, it was killed"}`);
  const isJudged = options.minutes >= SHORTEST_JUDGED;
  if (!isJudged) print(`too short to judge the slope; it takes ${SHORTEST_JUDGED} minutes`);
  const isFlat = !isJudged || (counted.length > 1 && slope <= options.limit);
  return isFlat && tally.wrong.size === 0 && subject.complaints.length === 0 && code === 0;
}

/** Gives the exit code. No child and no file outlives it, even after an error. */
async function main(argv: readonly string[]): Promise<number> {
  const options = readOptions(argv);
  if (options === "help" || options === null) {
    (options === null ? process.stderr : process.stdout).write(HELP);
    return options === null ? 2 : 0;
  }
  const folder = mkdtempSync(join(tmpdir(), "signalbox-soak-"));
  let mock: MockServer | null = null;
  let subject: Subject | null = null;
  process.once("exit", () => {
    subject?.process.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  });
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => process.exit(130));
  try {
    mock = await startMock({ host: "127.0.0.1", port: 0 });
    subject = await startServer(folder, mock.url);
    const soaked = await soak(subject, options.minutes);
    const code = await stop(subject);
    return report(soaked, subject, code, options) ? 0 : 1;
  } catch (error) {
    process.stderr.write(`soak: ${error instanceof Error ? error.message : "failed"}\n`);
    return 1;
  } finally {
    await mock?.close();
  }
}

process.exitCode = await main(process.argv.slice(2));
