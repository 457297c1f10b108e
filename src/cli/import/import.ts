import { posix, resolve } from "node:path";
import { compareDiagnostics, type Diagnostic } from "../../canon/diagnostic.ts";
import { quote } from "../../compile/authored/literal-secrets.ts";
import { compileConfiguration } from "../../compile/compile.ts";
import { compileTable } from "../../compile/compile-table.ts";
import type { FileTree } from "../../compile/file-tree.ts";
import { furtherSources, loadFromTree } from "../../compile/load.ts";
import type { CompileCache } from "../../policy/toolchain/compile-cache.ts";
import { openCache } from "../terminal/configuration.ts";
import { readPreset } from "../init.ts";
import { demoRequest } from "../serve/demo.ts";
import { createFiles, fileBelow } from "../terminal/write-file.ts";
import { CommandError, EXIT, UsageError, type CommandIo } from "../terminal/command-io.ts";
import { packagedText } from "../terminal/process.ts";
import { capitalised, jsonText } from "../terminal/printing.ts";
import { printFindings } from "../terminal/report.ts";
import {
  defaultFlags,
  listFlags,
  textFlags,
  noSuchCommand,
  onlyArgument,
  readWorkspaceName,
  flagCommand,
  shownPath,
  wantsJson,
} from "../terminal/command-line.ts";
import {
  type ImportAnswers,
  ImportedConfiguration,
} from "./configuration/imported-configuration.ts";
import type { PlannedPolicy } from "./configuration/rows.ts";
import { importFiles, isSelfHosted, SIMULATED } from "./routes-file.ts";
import {
  type ImportedFile,
  modelLines,
  type Outcome,
  OUTCOMES,
  readImportedText,
} from "./source.ts";

interface ImportSource {
  /** One line of the help. */
  readonly summary: string;
  readonly load: () => Promise<
    (file: ImportedFile, imported: ImportedConfiguration) => Promise<void> | void
  >;
}

/** Gateways whose configurations can be read, by their name on the command line. */
export const IMPORT_SOURCES: Readonly<Record<string, ImportSource>> = {
  litellm: {
    summary: "config.yaml of LiteLLM's proxy",
    load: async () => (await import("./litellm/import-litellm.ts")).importLiteLlm,
  },
  portkey: {
    summary: "a config of Portkey's gateway, or several by name, as JSON",
    load: async () => (await import("./portkey/import-portkey.ts")).importPortkey,
  },
  openrouter: {
    summary: "a list of OpenRouter's model ids, or its answer to GET /models",
    load: async () => (await import("./openrouter.ts")).importOpenRouter,
  },
};

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
  ...textFlags("models", "cache"),
  ...listFlags("provider"),
  ...defaultFlags({
    out: ".",
    workspace: DEFAULT_WORKSPACE,
    "no-training": false,
    format: "terminal",
  }),
};

export const importConfiguration = flagCommand(
  { name: "import", help: IMPORT_HELP, flags: FLAGS },
  async (values, io, positionals) => {
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
    const outcome = await runImport(
      source,
      { ...text, path },
      answers,
      await openCache(values.cache, io),
    );
    if (!("files" in outcome)) {
      // Lines of the file are not printed: they may hold keys that no mask recognises.
      printFindings(outcome, io);
      throw new CommandError(`${shown}: nothing was written`);
    }
    await write(outcome, values.out, io, json);
    const hasOtherErrors = outcome.result.check.errors.some(
      ({ code }) => code !== "PLACEHOLDER_LEFT",
    );
    return hasOtherErrors ? EXIT.failed : EXIT.ok;
  },
);

async function readModels(file: string, io: CommandIo) {
  const path = resolve(io.cwd, file);
  const text = await readImportedText(path, shownPath(io.cwd, path));
  if (typeof text === "string")
    throw new CommandError(`--models: ${shownPath(io.cwd, path)} ${text}`);
  const lines = modelLines(text);
  if (lines === null) throw new UsageError("--models: the file must have one model id a line");
  return lines.flatMap(({ node }) => (node.kind === "scalar" ? [String(node.value)] : []));
}

function readProviders(pairs: readonly string[]) {
  return new Map(
    pairs.map((pair) => {
      const [slug = "", preset = ""] = pair.split("=", 2);
      if (slug === "" || preset === "")
        throw new UsageError("--provider: write SLUG=PRESET, such as openai-main=openai");
      readPreset("--provider", preset);
      return [slug.replace(/^@/, ""), preset] as const;
    }),
  );
}

async function write({ files, result }: Imported, out: string, io: CommandIo, json: boolean) {
  const path = resolve(io.cwd, out);
  const shown = shownPath(io.cwd, path);
  const rows = [...files, [REPORT, formatImportMarkdown(result)] as const].map(([name, text]) =>
    fileBelow({ path, shown }, name, text),
  );
  await createFiles(rows);
  if (json) {
    io.stdout(formatImportJson(result));
    return;
  }
  const allowsTraining = /^[^#\n]*trains_on_data: true/m.test(files.get("routes.yaml") ?? "");
  io.stdout(
    `${allowsTraining ? TRAINING : ""}${rows.map((row) => `wrote ${row.shown}\n`).join("")}\n${summaryOf(result, shown)}`,
  );
}

/** Printed first: existing clients are refused until this is decided. */
const TRAINING = `Decide first: do your contracts forbid the providers to train on requests? Until routes.yaml has
\`trains_on_data: false\` there, your clients are refused. Or import again with --no-training.

`;

/** Entries that need a decision come first. */
const OUTCOME_TEXTS: Readonly<Record<Outcome, string>> = {
  decide: "to decide by hand",
  changed: "carried over with a changed meaning",
  left_out: "not carried over",
  carried: "carried over",
};

function summaryOf({ entries, check, secrets }: ImportResult, shown: string): string {
  const counts = OUTCOMES.map(
    (outcome) =>
      `${entries.filter((entry) => entry.outcome === outcome).length} ${OUTCOME_TEXTS[outcome]}`,
  );
  const literal = secrets.filter(({ literals }) => literals.length > 0).length;
  const keys =
    literal === 0
      ? ""
      : `${literal} keys are in the source itself; IMPORT.md names a variable for each\n`;
  const checked = `check: ${check.errors.length} errors, ${check.warnings.length} warnings${check.errors.length === 0 ? "" : "; IMPORT.md lists them"}\n`;
  const config = shown === "." ? "" : ` --config ${shown}/routes.yaml`;
  return `values of the source: ${counts.join(", ")}
${keys}${checked}
Next: read IMPORT.md, then try it without any provider: signalbox serve${config} --environment ${SIMULATED} --demo
`;
}

/** Converts the configuration of another gateway. @returns findings if it cannot be converted. */
export async function runImport(
  source: string,
  file: ImportedFile,
  answers: ImportAnswers,
  cache: CompileCache | null,
) {
  const imported = new ImportedConfiguration(file.shown, answers);
  const { findings, report, routes, residency, policies, secrets, keyCommands } = imported;
  const read = await IMPORT_SOURCES[source]?.load();
  if (read === undefined) throw new Error("runImport: the source was checked before");
  await read(file, imported);
  if (!findings.failed && routes.length === 0) reportNothing(imported);
  if (findings.failed) return findings.list();
  reportAssumptions(imported);
  if (residency.size > 0) policies.push(await residencyPolicy());
  const files = importFiles(imported, `signalbox import ${source}`, file.shown);
  const { check, firstRequest: request } = await checkFiles(files, cache);
  const result = {
    source,
    /** The source's file as messages print it. */
    file: file.shown,
    /** Files written, besides the report. */
    files: [...files.keys()],
    entries: report.list(),
    /** Variables that routes.yaml refers to, with the lines of the source that hold the secret. */
    secrets: secrets.list().map(([variable, literals]) => ({
      variable,
      literals: literals.map(({ at }) => ({ file: at.file ?? file.shown, line: at.line })),
    })),
    check,
    /** Commands that create the keys of the source anew. */
    keys: keyCommands,
    /** For the simulated provider; `null` if its environment has errors. */
    firstRequest: request === null ? null : { ...request, body: JSON.stringify(request.body) },
  };
  /** By path below the folder that they go to, without the report. */
  return { files, result };
}

type Imported = Exclude<Awaited<ReturnType<typeof runImport>>, readonly Diagnostic[]>;
type ImportResult = Imported["result"];

/** The packaged policy, with its tests. */
async function residencyPolicy(): Promise<PlannedPolicy> {
  const names = ["eu-residency.rego", "eu-residency_test.rego", "lib/workspace.rego"];
  const texts = await Promise.all(
    names.map(async (name) => [name, await packagedText(`policies/${name}`)] as const),
  );
  return { id: "eu-residency", mode: "enforce", files: new Map(texts) };
}

function reportNothing({ findings, report }: ImportedConfiguration) {
  for (const { outcome, source, line, file, text } of report.list()) {
    if (outcome === "left_out" || outcome === "decide")
      findings.add(
        "WRONG_VALUE",
        { line, column: 1, file },
        `${source}: not carried over: ${text}`,
        "",
      );
  }
  findings.add(
    "WRONG_VALUE",
    { line: 1, column: 1 },
    "the file contains nothing that can become a route",
    "an import needs one model that is called for text, vectors or rerank",
  );
}

function reportAssumptions({ assumed, report, answers, providers }: ImportedConfiguration) {
  for (const [preset, models] of assumed) {
    const [origin] = models.values();
    if (origin === undefined) continue;
    const names = [...models.keys()].slice(0, 8).map(quote);
    const others = models.size > names.length ? ` and ${models.size - names.length} more` : "";
    const assumption =
      preset === ""
        ? "tools and JSON, which most servers of this protocol have"
        : `those of the models that preset \`${preset}\` is known for`;
    report.add(
      "decide",
      origin,
      `the source does not state what ${names.join(", ")}${others} can do: \`capabilities\` are ${assumption}. Remove what a model lacks, add what it has`,
    );
  }
  const [first] = providers.find((row) => !isSelfHosted(row))?.origins ?? [];
  if (answers.trainsOnData && first !== undefined)
    report.add(
      "decide",
      first,
      'the source does not state whether providers train on requests: `trains_on_data: true` is written, so only requests with `"provider": {"data_collection": "allow"}` are served. Write `false` where your contract says so, or import with `--no-training`',
    );
}

/**
 * Checks the files of an import before they are written, also in the environment of the simulated
 * provider.
 */
async function checkFiles(files: ReadonlyMap<string, string>, cache: CompileCache | null) {
  const tree = memoryTree(files);
  const load = (environment?: string) =>
    loadFromTree(tree, "routes.yaml", "routes.yaml", environment);
  const plain = await compileConfiguration(await load(), { cache });
  const overlaid = await load(SIMULATED);
  const simulated = compileTable(overlaid.routes, furtherSources(overlaid));
  const { error = [], warning = [] } = Object.groupBy(
    [
      ...plain.diagnostics,
      ...simulated.diagnostics.filter(
        ({ severity, file }) => severity === "error" && file.includes(SIMULATED),
      ),
    ].toSorted(compareDiagnostics),
    ({ severity }) => severity,
  );
  /** SHA-256 of the table; `null` for a table with errors. */
  const revision = plain.table?.revision ?? null;
  const firstRequest = simulated.table === null ? null : demoRequest(simulated.table);
  return { check: { errors: error, warnings: warning, revision }, firstRequest };
}

function memoryTree(files: ReadonlyMap<string, string>): FileTree {
  return {
    readText: async (path) => files.get(posix.normalize(path)) ?? { unread: "absent" },
    namesIn: async (folder) => {
      const prefix = posix.normalize(folder) === "." ? "" : `${posix.normalize(folder)}/`;
      const below = [...files.keys()].filter((path) => path.startsWith(prefix));
      const names = new Set(below.map((path) => path.slice(prefix.length).split("/")[0] ?? ""));
      return names.size === 0 ? null : [...names];
    },
  };
}

/** The report for programs; `format` is the version of its shape. */
export function formatImportJson({ check, ...result }: ImportResult): string {
  const { errors, warnings, revision } = check;
  const shown = (findings: readonly Diagnostic[]) =>
    findings.map(({ column: _column, hint: _hint, ...finding }) => finding);
  return jsonText({
    format: 1,
    ...result,
    check: { revision, errors: shown(errors), warnings: shown(warnings) },
  });
}

/** The report for people. */
export function formatImportMarkdown(result: ImportResult): string {
  const groups = Object.entries(OUTCOME_TEXTS).map(([outcome, text]) => ({
    title: capitalised(text),
    entries: result.entries.filter((entry) => entry.outcome === outcome),
  }));
  const sections = groups.flatMap(({ title, entries }) => {
    const rows = entries.map(
      ({ file, line, source, text }) => `| ${file}:${line} | ${codeSpan(source)} | ${cell(text)} |`,
    );
    return rows.length === 0
      ? []
      : [`## ${title}\n\n| Line | Source | What |\n|---|---|---|\n${rows.join("\n")}\n`];
  });
  const counts = groups.map(({ title, entries }) => `| ${title} | ${entries.length} |`);
  return `# Import of ${result.file}

Written by \`signalbox import ${result.source}\`. Nothing of the source is left out of this page.
No secret of the source is in any file that was written.

| What became of it | Values |
|---|---|
${counts.join("\n")}

${checkText(result)}
${tryText(result)}
${secretsText(result)}${keysText(result)}${sections.join("\n")}
Files: ${result.files.map(codeSpan).join(", ")}.
`;
}

function checkText({ check }: ImportResult): string {
  const { errors, warnings, revision } = check;
  const rows = [...errors, ...warnings].map(
    ({ severity, file, line, code: name, message }) =>
      `- ${severity} ${file}:${line} ${name}: ${cell(message)}`,
  );
  const verdict =
    revision === null || errors.length > 0
      ? `\`signalbox check\` finds ${errors.length} errors; nothing is served until they are corrected.`
      : `\`signalbox check\` was run: no errors, ${warnings.length} warnings; table ${revision.slice(0, 12)}.`;
  return `## Check\n\n${verdict}\n${rows.length === 0 ? "" : `\n${rows.join("\n")}\n`}`;
}

function tryText({ firstRequest }: ImportResult): string {
  if (firstRequest === null) return "";
  const { workspace, path, body } = firstRequest;
  return `## First request

In the environment \`${SIMULATED}\` the simulated provider answers for every row. No secret is needed and no provider is called.

\`\`\`sh
signalbox serve --environment ${SIMULATED}
\`\`\`

In another terminal, in the same folder:

\`\`\`sh
KEY=$(signalbox keys create --workspace ${workspace} --scopes inference --owner import --expires 1d --quiet)
curl -s http://127.0.0.1:8080${path} -H "Authorization: Bearer $KEY" \\
  -H 'Content-Type: application/json' -d '${body}'
\`\`\`
`;
}

function secretsText({ secrets }: ImportResult): string {
  if (secrets.length === 0) return "";
  const rows = secrets.map(({ variable, literals }) => {
    const lines = literals.map(({ file, line }) => `${file}:${line}`).join(", ");
    const what =
      literals.length === 0
        ? "named by the source, or the usual one of the provider"
        : `${lines} holds the key itself: put it into the environment, and replace it where the source is in git`;
    return `| ${codeSpan(variable)} | ${what} |`;
  });
  return `## Secrets to set\n\n| Variable | Where the source has it |\n|---|---|\n${rows.join("\n")}\n\n`;
}

function keysText({ keys }: ImportResult): string {
  if (keys.length === 0) return "";
  return `## Keys to make\n\nKeys of the source cannot be imported. These commands create keys with the same grants:\n\n\`\`\`sh\n${keys.join("\n")}\n\`\`\`\n\n`;
}

function codeSpan(text: string) {
  return `\`${text.replaceAll("`", "'")}\``;
}

/** In a table a line feed ends the row, and `|` the cell. */
function cell(text: string) {
  return text.replaceAll(/\s*\n\s*/g, " ").replaceAll("|", "\\|");
}
