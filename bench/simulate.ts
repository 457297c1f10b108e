import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { parse } from "yaml";
import { compileConfiguration } from "../src/compile/compile.ts";
import type { ConfigurationFiles } from "../src/compile/load.ts";
import { parseAssertions } from "../src/simulate/assertions/parse.ts";
import type { HeldFile, Side } from "../src/simulate/request.ts";
import { runSimulation } from "../src/simulate/run-simulation.ts";
import { scaleConfiguration, type ConfigurationChange } from "./scale-configuration.ts";
import { styleLibraries, stylePolicy, STYLES } from "./style-policies.ts";

/**
 * What `signalbox simulate` costs, compilation of both sides included and no cache: generated
 * configurations of routes × workspaces × policies with one more fallback or one changed policy,
 * and this repository's own with one more fallback and its assertions. Every row is a process of
 * its own, so that its memory is its own. Aims, on two cores: 200 × 200 × 25 with a fallback in 10
 * s and 1 GB, 200 × 100 × 20 with a changed policy in 60 s, this repository in 3 s; with policies
 * as people write them and a fallback, 200 × 100 × 20 in 20 s, and 500 × 300 × 40 in 120 s and 2
 * GB. `npm run bench -- simulate`; with `--quick` the first rows only, with names of rows only
 * those.
 */
interface Row {
  readonly name: string;
  /** Routes, workspaces, policies; `null`: this repository. */
  readonly size: readonly [routes: number, workspaces: number, policies: number] | null;
  readonly change: ConfigurationChange;
  /** Policies as people write them (`bench/styles`) instead of generated ones. */
  readonly written?: boolean;
}

const ROWS: readonly Row[] = [
  row(10, 5, 2),
  row(10, 5, 6),
  row(10, 5, 10),
  row(50, 50, 10),
  row(50, 50, 25),
  row(200, 100, 20),
  row(200, 200, 25),
  row(200, 100, 20, "policy"),
  { name: "shipped", size: null, change: "fallback" },
  written(50, 50, 20),
  written(200, 100, 20),
  written(500, 300, 40),
];

function written(routes: number, workspaces: number, policies: number): Row {
  return {
    ...row(routes, workspaces, policies),
    name: `${routes}x${workspaces}x${policies} written`,
    written: true,
  };
}

/** One fallback more, and on both sides the same written policies, then generated ones. */
function writtenFiles([routes, workspaces, policies]: NonNullable<Row["size"]>, isHead: boolean) {
  const generated = Math.max(0, policies - STYLES.length);
  const size = { routes, workspaces, policies: generated };
  const files = scaleConfiguration(size, isHead ? "fallback" : null);
  const table = JSON.parse(files.routes.text);
  table.vocabulary.owners = ["team-risk", "team-growth", "platform"];
  const chosen = STYLES.slice(0, policies).map((style) => stylePolicy(style, false));
  return {
    routes: { path: "routes.yaml", text: JSON.stringify(table) },
    policies: [...chosen, ...styleLibraries(), ...files.policies],
  };
}

function row(
  routes: number,
  workspaces: number,
  policies: number,
  change: ConfigurationChange = "fallback",
): Row {
  return {
    name: `${routes}x${workspaces}x${policies} ${change}`,
    size: [routes, workspaces, policies],
    change,
  };
}

const QUICK_ROWS = 3;
const WORKERS = 2;
const TIME_LIMIT = 600_000;

interface Figures {
  readonly complete: boolean;
  readonly classes: number;
  readonly shapes: string;
  readonly changed: number;
  readonly compiling: number;
  readonly seconds: number;
  /** Of all threads: other work of the machine does not count. */
  readonly cpu: number;
  readonly megabytes: number;
}

const ROOT = new URL("../", import.meta.url);

function shippedFiles(isHead: boolean): ConfigurationFiles {
  const fixture = parse(readFileSync(new URL("routes.yaml", ROOT), "utf8"));
  if (isHead) fixture.routes["chat-small-eu"].fallbacks.push("gpt-5-eu");
  const policies = ["policies/", "policies/lib/"].flatMap((folder) =>
    readdirSync(new URL(folder, ROOT))
      .filter((name) => /(?<!_test)\.rego$/.test(name))
      .map((name) => ({
        path: `${folder}${name}`,
        text: readFileSync(new URL(`${folder}${name}`, ROOT), "utf8"),
      })),
  );
  return { routes: { path: "routes.yaml", text: JSON.stringify(fixture) }, policies };
}

async function sideOf(
  name: "base" | "head",
  { size, change, written: byHand }: Row,
): Promise<Side> {
  const isHead = name === "head";
  const [routes = 0, workspaces = 0, policies = 0] = size ?? [];
  const files =
    size === null
      ? shippedFiles(isHead)
      : byHand === true
        ? writtenFiles(size, isHead)
        : scaleConfiguration({ routes, workspaces, policies }, isHead ? change : null);
  const {
    table,
    policies: compiled,
    diagnostics,
  } = await compileConfiguration(files, { cache: null });
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  if (table === null || compiled === null || errors.length > 0)
    throw new Error(`bench: ${JSON.stringify(errors)}`);
  return { name, commit: null, table, policies: compiled, files, warnings: [] };
}

function shippedAssertions(base: Side, head: Side): HeldFile {
  const file = "policies/assertions.yaml";
  const [before, after] = [base, head].map(({ table }) => ({ table, contracts: null }));
  if (before === undefined || after === undefined) throw new Error("bench: two sides");
  const source = { path: file, text: readFileSync(new URL(file, ROOT), "utf8") };
  const { assertions } = parseAssertions(source, { base: before, head: after });
  if (assertions === null) throw new Error("bench: the assertions have errors");
  return { file, assertions, changes: [] };
}

async function measured(of: Row): Promise<Figures> {
  const began = performance.now();
  // At once, as the command does: equal policies are compiled once.
  const [base, head] = await Promise.all([sideOf("base", of), sideOf("head", of)]);
  const compiled = performance.now();
  const request = {
    promote: null,
    fresh: true,
    timeLimit: TIME_LIMIT,
    workers: WORKERS,
    assertions: of.size === null ? shippedAssertions(base, head) : null,
    evidence: null,
    now: Date.now(),
  };
  const report = await runSimulation(base, head, request, {
    onProgress: () => {},
    signal: new AbortController().signal,
  });
  return {
    complete: report.complete,
    classes: report.space.classes,
    shapes: report.space.shapes,
    changed: report.declared.changed_classes,
    compiling: (compiled - began) / 1_000,
    seconds: (performance.now() - began) / 1_000,
    cpu: (process.cpuUsage().user + process.cpuUsage().system) / 1_000_000,
    megabytes: process.resourceUsage().maxRSS / 1_024,
  };
}

function inOwnProcess(index: number): Figures {
  const argv = [new URL(import.meta.url).pathname, "--child", String(index)];
  const { stdout, stderr, status } = spawnSync(process.execPath, argv, { encoding: "utf8" });
  if (status !== 0) throw new Error(`bench: ${stderr}`);
  const figures: Figures = JSON.parse(stdout);
  return figures;
}

const [mode, ...names] = process.argv.slice(2);
if (mode === "--child") {
  const found = ROWS[Number(names[0])];
  if (found === undefined) throw new RangeError("bench: no such row");
  console.log(JSON.stringify(await measured(found)));
} else {
  const requested = mode === undefined || mode === "--quick" ? names : [mode, ...names];
  console.log(
    "| routes × workspaces × policies | complete | classes | shapes, 10^ | changed | compiling s | seconds | CPU s | resident MB |",
  );
  console.log("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
  for (const [index, { name }] of ROWS.entries()) {
    if (
      requested.length > 0 ? !requested.includes(name) : mode === "--quick" && index >= QUICK_ROWS
    )
      continue;
    const { complete, classes, shapes, changed, compiling, seconds, cpu, megabytes } =
      inOwnProcess(index);
    const cells = [
      name,
      complete,
      classes,
      shapes.length - 1,
      changed,
      compiling.toFixed(1),
      seconds.toFixed(1),
      cpu.toFixed(1),
    ];
    console.log(`| ${[...cells, megabytes.toFixed(0)].join(" | ")} |`);
  }
}
