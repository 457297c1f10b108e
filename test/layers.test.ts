import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { circlesOf, filesBelow, importsOf, ROOT, shown } from "./support/imports.ts";

/**
 * Which folder of `src` (and `mock/` and `console/` beside it) may import which, at run time and in
 * types. The table has only what is used, so an entry that is no longer needed goes. A folder comes
 * after those that it imports.
 */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  canon: [],
  network: [],
  validation: [],
  decide: ["canon"],
  dialects: ["canon"],
  evidence: ["canon"],
  mock: ["canon"],
  telemetry: ["canon", "evidence"],
  limits: ["canon"],
  lifecycle: ["canon", "evidence"],
  governance: ["canon", "evidence", "lifecycle"],
  keys: ["canon"],
  store: ["canon", "evidence", "governance", "keys", "lifecycle", "limits"],
  policy: ["canon", "validation"],
  compile: ["canon", "dialects", "network", "policy", "validation"],
  simulate: ["canon", "compile", "decide", "evidence", "lifecycle", "policy", "validation"],
  dispatch: ["canon", "dialects", "network"],
  http: [
    "canon",
    "decide",
    "dialects",
    "dispatch",
    "evidence",
    "governance",
    "lifecycle",
    "limits",
    "simulate",
    "validation",
  ],
  server: [
    "canon",
    "compile",
    "decide",
    "dispatch",
    "evidence",
    "governance",
    "http",
    "keys",
    "lifecycle",
    "limits",
    "mock",
    "policy",
    "simulate",
    "store",
    "telemetry",
  ],
  cli: [
    "canon",
    "compile",
    "decide",
    "dialects",
    "evidence",
    "governance",
    "http",
    "keys",
    "lifecycle",
    "limits",
    "network",
    "policy",
    "server",
    "simulate",
    "store",
    "telemetry",
  ],
  "main.ts": ["cli", "server"],
  // The page that browsers run (`console/` beside `src/`).
  console: ["canon", "cli", "governance", "http", "simulate"],
};

/**
 * Folders that compute only: no package, no module of Node. Globals such as `Date` and `process`
 * are the linter's.
 */
const PURE = new Set(["canon", "decide", "dialects"]);

/** The only folder that may import a package. */
const OWNERS: Readonly<Record<string, string>> = {
  h3: "http",
  undici: "dispatch",
  "@open-policy-agent/opa-wasm": "policy",
  jose: "keys",
  "openid-client": "keys",
  "node:sqlite": "store",
  postgres: "store",
  preact: "console",
  "@preact/signals": "console",
  uplot: "console",
};

const files = ["src", "mock", "console"].flatMap((folder) => filesBelow(join(ROOT, folder)));
const sources = files.filter((path) => /\.tsx?$/.test(path));
const known = new Set(files);
const edges = sources.flatMap((file) => importsOf(file).map((one) => ({ file, ...one })));
/** The part of `src` that a file is in, or the workspace beside it. */
const layerOf = (path: string): string => {
  const [workspace = "", folder = ""] = shown(path).split("/");
  return workspace === "src" ? folder : workspace;
};

function graphOf(
  pairs: Iterable<readonly [string, string]>,
): ReadonlyMap<string, ReadonlySet<string>> {
  const graph = new Map<string, Set<string>>();
  for (const [from, to] of pairs) graph.set(from, (graph.get(from) ?? new Set()).add(to));
  return graph;
}

const fileEdges = edges.flatMap(({ file, target }) =>
  target !== null && known.has(target) ? [[file, target] as const] : [],
);
const layerEdges = fileEdges
  .map(([from, to]) => [layerOf(from), layerOf(to)] as const)
  .filter(([from, to]) => from !== to);

describe("layers", () => {
  it("every relative import leads to a file", () => {
    const lost = edges.filter(({ target }) => target !== null && !known.has(target));
    expect(lost.map(({ file, specifier }) => `${shown(file)}: ${specifier}`)).toEqual([]);
  });

  it("a folder imports only what the table allows", () => {
    const forbidden = fileEdges.filter(([from, to]) => {
      const [own, other] = [layerOf(from), layerOf(to)];
      return own !== other && LAYERS[own]?.includes(other) !== true;
    });
    expect(forbidden.map(([from, to]) => `${shown(from)} imports ${shown(to)}`)).toEqual([]);
  });

  it("every import that the table allows is used", () => {
    const used = graphOf(layerEdges);
    const unused = Object.entries(LAYERS).flatMap(([own, others]) =>
      others
        .filter((other) => used.get(own)?.has(other) !== true)
        .map((other) => `${own} → ${other}`),
    );
    expect(unused).toEqual([]);
  });

  it("no folder imports itself through others", () => {
    expect(circlesOf(graphOf(layerEdges))).toEqual([]);
  });

  it("no file imports itself through others, type imports included", () => {
    expect(circlesOf(graphOf(fileEdges)).map((circle) => circle.map(shown))).toEqual([]);
  });

  it("canon, decide and dialects import no package and no module of Node", () => {
    const outside = edges.filter(({ file, target }) => target === null && PURE.has(layerOf(file)));
    expect(outside.map(({ file, specifier }) => `${shown(file)}: ${specifier}`)).toEqual([]);
  });

  it("a package with an owner is imported by its owner alone", () => {
    const elsewhere = edges.filter(({ file, specifier }) => {
      const owner = Object.entries(OWNERS).find(
        ([name]) => specifier === name || specifier.startsWith(`${name}/`),
      );
      return owner !== undefined && owner[1] !== layerOf(file);
    });
    expect(elsewhere.map(({ file, specifier }) => `${shown(file)}: ${specifier}`)).toEqual([]);
  });
});
