import { compareDiagnostics, type Diagnostic } from "../../canon/diagnostic.ts";
import { quote } from "../../compile/authored/literal-secrets.ts";
import { Findings } from "../../compile/findings/findings.ts";
import type { CompileCache } from "../../policy/toolchain/compile-cache.ts";
import { packagedText } from "../terminal/package.ts";
import { ImportedConfiguration, type ImportAnswers } from "./configuration/imported-configuration.ts";
import { Secrets } from "./configuration/secrets.ts";
import type { PlannedPolicy } from "./configuration/rows.ts";
import { ImportReport } from "./import-report.ts";
import type { ImportResult } from "./import-result.ts";
import type { ImportedFile } from "./read-source.ts";
import { importFiles, SIMULATED } from "./import-files.ts";
import { isSelfHosted, reachable } from "./routes-json.ts";
import { posix } from "node:path";
import { compileConfiguration, type CompiledConfiguration } from "../../compile/compile.ts";
import type { FileTree } from "../../compile/file-tree.ts";
import { loadFromTree } from "../../compile/load.ts";

export interface Imported {
  /** By path below the folder that they go to, without the report. */
  readonly files: ReadonlyMap<string, string>;
  readonly result: ImportResult;
}

/** Reads a configuration of another gateway and makes ours of it. @returns what is wrong with the file where nothing can be made of it. */
export async function runImport(
  source: string,
  file: ImportedFile,
  answers: ImportAnswers,
  cache: CompileCache | null,
): Promise<Imported | readonly Diagnostic[]> {
  const findings = new Findings(file.shown);
  const report = new ImportReport(file.shown);
  const imported = new ImportedConfiguration(report, findings, new Secrets(), answers);
  const read = await IMPORT_SOURCES[source]?.load();
  if (read === undefined) throw new Error("runImport: the source was checked before");
  await read(file, imported);
  if (!findings.failed && imported.routes.length === 0) reportNothing(imported, findings);
  if (findings.failed) return findings.list();
  reportAssumptions(imported);
  if (imported.residency.size > 0) imported.policies.push(await residencyPolicy());
  const files = importFiles(imported, `signalbox import ${source}`, file.shown);
  const { diagnostics, table } = await verifyFiles(files, cache);
  const sorted = diagnostics.toSorted(compareDiagnostics);
  const result: ImportResult = {
    source,
    file: file.shown,
    files: [...files.keys()],
    entries: report.list(),
    secrets: imported.secrets.list().map(({ variable, literals }) => ({
      variable,
      literals: literals.map(({ at }) => ({ file: at.file ?? file.shown, line: at.line })),
    })),
    check: {
      errors: sorted.filter(({ severity }) => severity === "error"),
      warnings: sorted.filter(({ severity }) => severity === "warning"),
      revision: table?.revision ?? null,
    },
    keys: imported.keyCommands,
    firstRequest: firstRequestOf(imported),
  };
  return { files, result };
}

/** The policy that comes with Signalbox, with its tests. */
async function residencyPolicy(): Promise<PlannedPolicy> {
  const names = ["eu-residency.rego", "eu-residency_test.rego", "lib/workspace.rego"];
  const texts = await Promise.all(names.map(async (name) => [name, await packagedText(`policies/${name}`)] as const));
  return { id: "eu-residency", mode: "enforce", files: new Map(texts) };
}

function reportNothing({ report }: ImportedConfiguration, findings: Findings): void {
  for (const { outcome, source, line, file, text } of report.list()) {
    if (outcome !== "left_out" && outcome !== "decide") continue;
    findings.add("WRONG_VALUE", { line, column: 1, file }, `${source}: not carried over: ${text}`, "");
  }
  const message = "the file contains nothing that can become a route";
  findings.add(
    "WRONG_VALUE",
    { line: 1, column: 1 },
    message,
    "an import needs one model that is called for text, vectors or rerank",
  );
}

function reportAssumptions({ assumed, report, answers, providers }: ImportedConfiguration): void {
  for (const [preset, models] of assumed) {
    const [spot] = models.values();
    if (spot === undefined) continue;
    const names = [...models.keys()].slice(0, 8).map(quote);
    const others = models.size > names.length ? ` and ${models.size - names.length} more` : "";
    const what =
      preset === ""
        ? "tools and JSON, which most servers of this protocol have"
        : `those of the models that preset \`${preset}\` is known for`;
    const text = `the source does not state what ${names.join(", ")}${others} can do: \`capabilities\` are ${what}. Remove what a model lacks, add what it has`;
    report.add("decide", spot, text);
  }
  const [first] = providers.filter((row) => !isSelfHosted(row));
  if (answers.trainsOnData && first?.spots[0] !== undefined) {
    const text =
      'the source does not state whether providers train on requests: `trains_on_data: true` is written, so only requests with `"provider": {"data_collection": "allow"}` are served. Write `false` where your contract says so, or import with `--no-training`';
    report.add("decide", first.spots[0], text);
  }
}

function firstRequestOf(imported: ImportedConfiguration): ImportResult["firstRequest"] {
  for (const { id, routes } of imported.workspaces) {
    const route = imported.routes.find((row) => routes.includes(row.id) && row.primary.model.operation === "generate");
    if (route === undefined) continue;
    const trained =
      imported.answers.trainsOnData && reachable(imported, [route.id]).some(({ provider }) => !isSelfHosted(provider));
    const body = {
      model: route.id,
      messages: [{ role: "user", content: "Hello" }],
      ...(trained ? { provider: { data_collection: "allow" } } : {}),
    };
    return { workspace: id, body: JSON.stringify(body) };
  }
  return null;
}

/** What `signalbox check` says of the files before they are written. */
interface Verified {
  readonly diagnostics: readonly Diagnostic[];
  readonly table: CompiledConfiguration["table"];
}

/** Compiles the files of an import as `check` does, also in the environment of the simulated provider. */
async function verifyFiles(files: ReadonlyMap<string, string>, cache: CompileCache | null): Promise<Verified> {
  const tree = memoryTree(files);
  const plain = await compileConfiguration(await loadFromTree(tree, "routes.yaml", "routes.yaml"), { cache });
  const overlaid = await loadFromTree(tree, "routes.yaml", "routes.yaml", SIMULATED);
  const simulated = await compileConfiguration({ ...overlaid, policies: [] }, { cache });
  const errors = simulated.diagnostics.filter(({ severity, file }) => severity === "error" && file.includes(SIMULATED));
  return { diagnostics: [...plain.diagnostics, ...errors], table: plain.table };
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

interface ImportSource {
  /** One line of the help. */
  readonly summary: string;
  readonly load: () => Promise<(file: ImportedFile, imported: ImportedConfiguration) => Promise<void> | void>;
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
