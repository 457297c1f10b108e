import { statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import type { Diagnostic, Source } from "../canon/diagnostic.ts";
import { type CompiledConfiguration, compileConfiguration } from "../compile/compile.ts";
import {
  allSources,
  type ConfigurationFiles,
  loadAssertions,
  loadConfiguration,
} from "../compile/load.ts";
import { finding } from "../policy/codes.ts";
import { EVALUATION_FUEL } from "../policy/evaluator.ts";
import { parseAssertions } from "../simulate/assertions/parse.ts";
import { formatPreset, resolvedPresets } from "../compile/presets.ts";
import { comparePrices, NOTHING_EXPANDED, priceNotes } from "../compile/prices.ts";
import { evaluationCosts } from "../simulate/evaluation-costs.ts";
import { printReport, REPORT_FORMATS, type ReportFormat } from "./terminal/report.ts";
import { explainCode, formatCode, unknownCode } from "./codes/explained-codes.ts";
import { DEFAULT_CACHE_TEXT, openCache } from "./terminal/configuration.ts";
import { type CommandIo, EXIT, UsageError } from "./terminal/command-io.ts";
import {
  ENVIRONMENT_HELP,
  givenText,
  defaultFlags,
  readEnvironment,
  readValue,
  flagCommand,
  shownPath,
  textFlags,
  type FlagValues,
} from "./terminal/command-line.ts";

const CHECK_HELP = `Usage: signalbox check [DIRECTORY] [options]
       signalbox check --explain CODE

Compiles routes.yaml and the policies beside it, as serve does, and prints every problem in them and in assertions.yaml
beside the policies.
Calls no provider, opens no store, reads no secret.

  DIRECTORY           the folder of a routes.yaml, instead of --config
  --config FILE       routes.yaml to check (default: routes.yaml)
${ENVIRONMENT_HELP}
  --format FORMAT     ${REPORT_FORMATS.join(", ")} (default: terminal)
  --strict            warnings fail too, unless a comment accepts them: # signalbox: accept CODE because REASON,
                      above the line of the warning or behind it
  --cache DIRECTORY   compiled policies (default: ${DEFAULT_CACHE_TEXT})
  --explain CODE      explain a code of a finding or of an API error, and how to fix it
  --help              this text

Exit codes: 0 no errors, 1 errors (or warnings with --strict), 2 usage.
`;

const FLAGS = {
  ...textFlags("config", "environment", "cache", "explain"),
  ...defaultFlags({ format: "terminal", strict: false }),
} as const;

type Values = FlagValues<typeof FLAGS>;

/** `signalbox check`. @returns the exit code; the report goes to stdout in every format. */
export const check = flagCommand(
  { name: "check", help: CHECK_HELP, flags: FLAGS },
  async (values, io, positionals) => {
    const config = configOf(values, positionals, io);
    const format = readValue("--format", values.format, REPORT_FORMATS);
    const environment = readEnvironment(values.environment, io);
    if (values.explain !== undefined) return explain(values.explain, io);
    return await run(config, environment, format, values, io);
  },
);

/** @throws {UsageError} for an unknown code, with the nearest one. */
function explain(requested: string, io: CommandIo): number {
  const code = [requested, requested.toUpperCase(), requested.toLowerCase()].find(
    (form) => explainCode(form).length > 0,
  );
  if (code === undefined) throw new UsageError(unknownCode(requested.toUpperCase()));
  io.stdout(formatCode(code, explainCode(code)));
  return EXIT.ok;
}

/** The routes.yaml of the folder, or that of `--config`. */
function configOf(values: Values, positionals: readonly string[], io: CommandIo): string {
  const [directory, ...others] = positionals;
  if (others.length > 0)
    throw new UsageError(
      `DIRECTORY: give one folder at most; name a file with --config${givenText(positionals)}`,
    );
  if (
    directory !== undefined &&
    statSync(resolve(io.cwd, directory), { throwIfNoEntry: false })?.isFile() === true
  ) {
    throw new UsageError(
      `DIRECTORY: must be a folder; name a file with --config${givenText(positionals)}`,
    );
  }
  if (directory !== undefined && values.config !== undefined) {
    throw new UsageError("--config: a folder is given too; give one of them");
  }
  return directory === undefined
    ? (values.config ?? "routes.yaml")
    : join(directory, "routes.yaml");
}

async function run(
  config: string,
  environment: string | null,
  format: ReportFormat,
  { cache, strict }: Values,
  io: CommandIo,
) {
  const path = resolve(io.cwd, config);
  const files = await loadConfiguration(path, shownPath(io.cwd, path), environment);
  const compiled = await compileConfiguration(files, { cache: await openCache(cache, io) });
  const { table, expanded = NOTHING_EXPANDED } = compiled;
  const assertions = await loadAssertions(files.routes, path);
  const sources = [
    ...allSources(files),
    ...(assertions.source === null ? [] : [assertions.source]),
  ];
  const found = [
    ...compiled.diagnostics,
    ...assertions.unreadable,
    ...assertionFindings(assertions.source, compiled),
    ...(await slowPolicies(files, compiled)),
  ];
  const presets = table === null ? [] : resolvedPresets(table, expanded.presets);
  const facts = { revision: table?.revision ?? null, presets };
  const { diagnostics, hasErrors, exit } = printReport(format, found, sources, strict, io, facts);
  const [first] = diagnostics;
  if (format === "terminal" && first !== undefined) {
    io.stdout(
      `\nsignalbox check --explain ${first.code} explains the code, as it does for every other code.\n`,
    );
  }
  if (format === "terminal" && !hasErrors && table !== null) {
    const [routes, endpoints, workspaces] = [table.routes, table.endpoints, table.workspaces].map(
      (rows) => Object.keys(rows).length,
    );
    io.stdout(
      `${presets.map(formatPreset).join("")}${describeFiles(files, environment)}: ${routes} routes, ${endpoints} endpoints, ${workspaces} workspaces, table ${table.revision.slice(0, 12)}\n`,
    );
    io.stdout(priceNotes(comparePrices(table, expanded), expanded.list.date).join(""));
  }
  return exit;
}

/** Share of the allowed work from which a policy is reported. */
const SLOW = 0.25;

/**
 * Findings about policies that are expensive for sample requests. Files must compile first.
 */
async function slowPolicies(
  { policies: sources }: ConfigurationFiles,
  { table, policies }: CompiledConfiguration,
) {
  if (table === null || policies === null) return [];
  const costs = await evaluationCosts(table, policies.modules);
  return costs.flatMap(({ policy, units, workspace, route }) => {
    if (units !== null && units <= SLOW * EVALUATION_FUEL) return [];
    const file =
      sources.find(({ path }) => basename(path) === `${policy}.rego`)?.path ?? `${policy}.rego`;
    const figure =
      units === null
        ? `takes more than the limit of ${EVALUATION_FUEL} units of work, so its requests would be denied with POLICY_TIMEOUT`
        : `takes ${units} of the ${EVALUATION_FUEL} units of work that are allowed`;
    return [
      finding(
        "POLICY_SLOW",
        { file, line: 1, column: 1 },
        `an evaluation ${figure} (workspace ${workspace}, route ${route})`,
      ),
    ];
  });
}

/** The checked files, with the environment of the overlay. */
function describeFiles(
  { routes, parts = [] }: ConfigurationFiles,
  environment: string | null,
): string {
  const included = parts.length === 0 ? "" : `, ${parts.length} included`;
  return `${routes.path}${included}${environment === null ? "" : `, environment ${environment}`}`;
}

/** Findings of assertions.yaml. Its names are looked up in the table, so they need one. */
function assertionFindings(
  source: Source | null,
  { table, policies }: CompiledConfiguration,
): readonly Diagnostic[] {
  if (source === null || table === null) return [];
  const side = {
    table,
    contracts: policies === null ? null : policies.policies.map(({ contract }) => contract),
  };
  return parseAssertions(source, { base: side, head: side }).diagnostics;
}
