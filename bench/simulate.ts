import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { parse } from "yaml";
import type { Source } from "../src/canon/diagnostic.ts";
import { compileConfiguration } from "../src/compile/compile.ts";
import type { Side } from "../src/simulate/request.ts";
import { runSimulation } from "../src/simulate/run-simulation.ts";

/**
 * What `signalbox simulate` costs over configurations of about a hundred thousand and about a million classes of requests, with ten policies: the ones of
 * this repository, compiled. Head differs by a fallback, an approval and a policy. Every line is a process of its own, so that its memory is its own.
 * The aims are 20 s for 100,000 classes on two cores, and 500 MB for a million. `npm run bench:simulate`, or with `--quick` for the first line only.
 */
const ROOT = new URL("../", import.meta.url);
const FOLDERS = ["policies/", "policies/lib/", "policy-library/"];
/** What tenants differ in besides their tier. */
const LABELS = ["eu", "tools", "images", "office-hours"];
const ROUTES = ["chat-small-eu", "chat-large-eu", "gpt-5", "embed-small", "moderation"];

interface Sizes {
  readonly workspaces: number;
  /** Labels that keys may carry; every set of them is a key of its own. */
  readonly labels: number;
}

interface Fixture extends Sizes {
  readonly name: string;
}

const FIXTURES: readonly Fixture[] = [
  { name: "small", workspaces: 10, labels: 2 },
  { name: "large", workspaces: 20, labels: 4 },
];

interface Figures {
  readonly classes: number;
  readonly shapes: string;
  readonly changed: number;
  readonly groups: number;
  readonly seconds: number;
  readonly residentMegabytes: number;
}

function policySources(): readonly Source[] {
  return FOLDERS.flatMap((folder) => {
    const names = readdirSync(new URL(folder, ROOT)).filter((name) => /(?<!_test)\.rego$/.test(name));
    const target = folder === "policies/lib/" ? "policies/lib/" : "policies/";
    return names.map((name) => ({
      path: `${target}${name}`,
      text: readFileSync(new URL(`${folder}${name}`, ROOT), "utf8"),
    }));
  });
}

/** The repository's routes.yaml, for many tenants that differ in tier, labels and what is approved. YAML may be written as JSON. */
function routesText({ workspaces, labels }: Sizes, isHead: boolean): string {
  const fixture = parse(readFileSync(new URL("routes.yaml", ROOT), "utf8"));
  const words = LABELS.slice(0, labels);
  const { regions, providers, dimensions, context_window } = fixture.workspaces.demo.approve;
  const rows = Array.from({ length: workspaces }, (_, number) => {
    const capabilities = number % 2 === 0 ? ["tools"] : ["json_schema"];
    if (isHead && number === 3) capabilities.pop();
    const row = {
      tier: number % 3 === 0 ? "regulated" : "standard",
      labels: words.filter((__, bit) => (number & (1 << bit)) !== 0),
      approve: {
        routes: [ROUTES[number % ROUTES.length]],
        regions,
        providers,
        capabilities,
        dimensions,
        context_window,
      },
    };
    return [`tenant-${number}`, row];
  });
  fixture.workspaces = Object.fromEntries(rows);
  fixture.vocabulary = { environments: ["production", "test"], labels: words };
  fixture.policies.managed_by = ["tenant-0"];
  fixture.policies.initial_mode = { "*": "enforce", "time-windows": "shadow", "reasoning-effort": "shadow" };
  if (isHead) fixture.routes["chat-small-eu"].fallbacks.push("gpt-5-eu");
  return JSON.stringify(fixture);
}

async function sideOf(name: "base" | "head", sizes: Sizes): Promise<Side> {
  const isHead = name === "head";
  const routes = { path: "routes.yaml", text: routesText(sizes, isHead) };
  const policies = policySources().map(({ path, text }) => ({
    path,
    text: isHead ? text.replace('incident := {"example-incident"}', 'incident := {"openai-us"}') : text,
  }));
  const files = { routes, policies };
  const { table, policies: compiled, diagnostics } = await compileConfiguration(files, { cache: null });
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  if (table === null || compiled === null || errors.length > 0) throw new Error(`bench: ${JSON.stringify(errors)}`);
  if (compiled.policies.length < 10) throw new Error("bench: ten policies are needed");
  return { name, commit: null, table, policies: compiled, files, warnings: [] };
}

async function measured(sizes: Sizes, workers: number): Promise<Figures> {
  const [base, head] = [await sideOf("base", sizes), await sideOf("head", sizes)];
  const request = {
    promote: null,
    fresh: false,
    timeLimit: Infinity,
    workers,
    assertions: null,
    evidence: null,
    now: Date.now(),
  };
  const began = performance.now();
  const report = await runSimulation(base, head, request, {
    onProgress: () => {},
    signal: new AbortController().signal,
  });
  return {
    classes: report.space.classes,
    shapes: report.space.shapes,
    changed: report.declared.changed_classes,
    groups: report.declared.groups.length,
    seconds: (performance.now() - began) / 1_000,
    residentMegabytes: process.resourceUsage().maxRSS / 1_024,
  };
}

function inOwnProcess(fixture: Fixture, workers: number): Figures {
  const argv = [
    new URL(import.meta.url).pathname,
    "--child",
    String(fixture.workspaces),
    String(fixture.labels),
    String(workers),
  ];
  const { stdout, stderr, status } = spawnSync(process.execPath, argv, { encoding: "utf8" });
  if (status !== 0) throw new Error(`bench: ${stderr}`);
  const figures: Figures = JSON.parse(stdout);
  return figures;
}

function printLine(fixture: Fixture, workers: number, figures: Figures): void {
  const { classes, shapes, changed, groups, seconds, residentMegabytes } = figures;
  const each = ((seconds * 1_000_000) / classes).toFixed(0);
  const cells = [fixture.name, workers, classes, shapes.length - 1, changed, groups, seconds.toFixed(1), each];
  console.log(`| ${[...cells, residentMegabytes.toFixed(0)].join(" | ")} |`);
}

const [mode, workspaces, labels, workers] = process.argv.slice(2);
if (mode === "--child") {
  console.log(
    JSON.stringify(await measured({ workspaces: Number(workspaces), labels: Number(labels) }, Number(workers))),
  );
} else {
  console.log("| estate | workers | classes | shapes, 10^ | changed | groups | seconds | µs/class | resident MB |");
  console.log("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
  for (const fixture of FIXTURES.slice(0, mode === "--quick" ? 1 : undefined)) {
    for (const threads of [1, 2]) printLine(fixture, threads, inOwnProcess(fixture, threads));
  }
}
