import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { readPreset } from "../init/plan.ts";
import { openCache } from "../compile-cache.ts";
import { createFiles, fileBelow } from "../policy/write-file.ts";
import { noSuchCommand, onlyArgument, readWorkspaceName, wantsJson } from "../terminal/arguments.ts";
import { CommandError, EXIT, UsageError, type CommandIo } from "../terminal/command-io.ts";
import { printFindings } from "../terminal/report.ts";
import { runFlagCommand } from "../terminal/run.ts";
import { shownPath } from "../terminal/as-typed.ts";
import type { ImportAnswers } from "./configuration/imported-configuration.ts";
import { formatImportJson, type ImportResult, formatImportMarkdown } from "./import-result.ts";
import { type Outcome, OUTCOMES } from "./import-report.ts";
import { type Imported, runImport, IMPORT_SOURCES } from "./run-import.ts";
import { readImportedText, modelLines } from "./read-source.ts";
import { SIMULATED } from "./import-files.ts";

const DEFAULT_WORKSPACE = "demo";
const REPORT = "IMPORT.md";

const IMPORT_HELP = `Usage: signalbox import SOURCE FILE [options]

Writes routes.yaml, policies and IMPORT.md from the configuration of another gateway, and checks them. IMPORT.md names every
value of the source with its line: carried over, carried over with a changed meaning, not carried over and why, to decide by hand.
A key in FILE is not written to any file; the report names a variable for it. Overwrites nothing.

Sources
${Object.entries(IMPORT_SOURCES)
  .map(([name, { summary }]) => `  ${name.padEnd(18)}${summary}`)
  .join("\n")}

  --out DIRECTORY     where to write (default: .); created if it is missing
  --workspace NAME    the tenant, where the source has none (default: ${DEFAULT_WORKSPACE})
  --no-training       declares that, by your contracts, the providers do not train on requests
  --models FILE       model ids, one a line, where the source takes any model (openai/*)
  --provider SLUG=PRESET
                      what a provider of Portkey's catalogue is; can be given several times
  --format FORMAT     terminal, json: what is printed on standard output (default: terminal)
  --cache DIRECTORY   compiled policies (default: the user's cache folder)
  --help              this text

Exit codes: 0 written, with at most placeholders to replace, 1 not written, or check finds other errors, 2 usage.
`;

const FLAGS = {
  out: { type: "string" },
  workspace: { type: "string", default: DEFAULT_WORKSPACE },
  "no-training": { type: "boolean", default: false },
  models: { type: "string" },
  provider: { type: "string", multiple: true },
  format: { type: "string", default: "terminal" },
  cache: { type: "string" },
} as const;

export function importConfiguration(argv: readonly string[], io: CommandIo): Promise<number> {
  const command = { name: "import", help: IMPORT_HELP, flags: FLAGS };
  return runFlagCommand(command, argv, io, async ({ values, positionals }) => {
    const [source, ...files] = positionals;
    if (source === undefined || !Object.hasOwn(IMPORT_SOURCES, source))
      throw noSuchCommand(source, Object.keys(IMPORT_SOURCES));
    const json = wantsJson(values.format);
    const path = resolve(io.cwd, onlyArgument(files, "FILE"));
    const shown = shownPath(io.cwd, path);
    const answers: ImportAnswers = {
      workspace: readWorkspaceName(values.workspace),
      trainsOnData: !values["no-training"],
      models: values.models === undefined ? [] : await readModels(values.models, io),
      providers: readProviders(values.provider ?? []),
    };
    const text = await readImportedText(path, shown);
    if (typeof text === "string") throw new CommandError(`${shown}: ${text}`);
    const outcome = await runImport(source, { ...text, path }, answers, await openCache(values.cache, io));
    if (!("files" in outcome)) {
      // Without the lines of the file: they may hold keys in forms that no mask knows.
      printFindings(outcome, io);
      throw new CommandError(`${shown}: nothing was written`);
    }
    await write(outcome, values.out ?? ".", io, json);
    const isOther = outcome.result.check.errors.some(({ code }) => code !== "PLACEHOLDER_LEFT");
    return isOther ? EXIT.failed : EXIT.ok;
  });
}

async function readModels(given: string, io: CommandIo): Promise<readonly string[]> {
  const path = resolve(io.cwd, given);
  const text = await readImportedText(path, shownPath(io.cwd, path));
  if (typeof text === "string") throw new CommandError(`--models: ${shownPath(io.cwd, path)} ${text}`);
  const lines = modelLines(text);
  if (lines === null) throw new UsageError("--models: the file must have one model id a line");
  return lines.flatMap(({ node }) => (node.kind === "scalar" ? [String(node.value)] : []));
}

function readProviders(given: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    given.map((pair) => {
      const [slug = "", preset = ""] = pair.split("=", 2);
      if (slug === "" || preset === "")
        throw new UsageError("--provider: write SLUG=PRESET, such as openai-main=openai");
      readPreset("--provider", preset);
      return [slug.replace(/^@/, ""), preset] as const;
    }),
  );
}

async function write({ files, result }: Imported, out: string, io: CommandIo, json: boolean): Promise<void> {
  const path = resolve(io.cwd, out);
  const shown = shownPath(io.cwd, path);
  const all = new Map([...files, [REPORT, formatImportMarkdown(result)]]);
  const rows = [...all].map(([name, text]) => fileBelow({ path, shown }, name, text));
  const present = rows.filter((row) => existsSync(row.path)).map((row) => row.shown);
  if (present.length > 0) {
    const what =
      present.length === 1 ? "exists already and is left as it is" : "exist already and are left as they are";
    throw new CommandError(`${present.join(", ")}: ${what}; choose another folder with --out`);
  }
  await createFiles(rows);
  if (json) {
    io.stdout(formatImportJson(result));
    return;
  }
  for (const row of rows) io.stdout(`wrote ${row.shown}\n`);
  io.stdout(`\n${summaryOf(result, shown)}`);
}

const OUTCOME_TEXTS: Readonly<Record<Outcome, string>> = {
  carried: "carried over",
  changed: "with a changed meaning",
  left_out: "not carried over",
  decide: "to decide by hand",
};

function summaryOf({ entries, check, secrets }: ImportResult, shown: string): string {
  const counts = OUTCOMES.map(
    (outcome) => `${entries.filter((entry) => entry.outcome === outcome).length} ${OUTCOME_TEXTS[outcome]}`,
  );
  const literal = secrets.filter(({ literals }) => literals.length > 0).length;
  const keys = literal === 0 ? "" : `${literal} keys are in the source itself; IMPORT.md names a variable for each\n`;
  const checked = `check: ${check.errors.length} errors, ${check.warnings.length} warnings${check.errors.length === 0 ? "" : "; IMPORT.md lists them"}\n`;
  const config = shown === "." ? "" : ` --config ${shown}/routes.yaml`;
  return `values of the source: ${counts.join(", ")}
${keys}${checked}
Next: read IMPORT.md, then try it without any provider: signalbox serve${config} --environment ${SIMULATED} --demo
`;
}
