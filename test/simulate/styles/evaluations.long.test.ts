import { beforeAll, describe, expect, it } from "vitest";
import { scaleConfiguration } from "../../../bench/scale-configuration.ts";
import { STYLES, styleLibraries, stylePolicy } from "../../../bench/style-policies.ts";
import { compileConfiguration } from "../../../src/compile/compile.ts";
import { decideJobs, type DecidedJobs } from "../../../src/simulate/jobs/decide-jobs.ts";
import { jobRunner } from "../../../src/simulate/jobs/job-runner.ts";
import { compiledSides, type CompiledTree } from "../../../src/simulate/side-contents.ts";
import { WATCH } from "../small-sides.ts";

/**
 * Evaluations of both versions of a policy over all requests of the configuration. A style that
 * multiplies members of the input takes tens of thousands.
 */
const MOST = 1_000;

/** It distinguishes numbers of labels, needs and providers together. */
const MORE: Readonly<Record<string, number>> = { "style-counts": 5_000 };

/** Four routes and three workspaces, with every style at once. */
async function sideOf(isHead: boolean): Promise<CompiledTree> {
  const { routes } = scaleConfiguration({ routes: 4, workspaces: 3, policies: 0 }, null);
  const table = JSON.parse(routes.text);
  table.vocabulary.owners = ["team-risk", "team-growth", "platform"];
  const compiled = await compileConfiguration(
    {
      routes: { path: "routes.yaml", text: JSON.stringify(table) },
      policies: [...STYLES.map((style) => stylePolicy(style, isHead)), ...styleLibraries()],
    },
    { cache: null },
  );
  expect(compiled.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  if (compiled.table === null || compiled.policies === null) throw new Error("a side");
  const { policies, modules } = compiled.policies;
  return { table: compiled.table, policies: { policies, modules } };
}

async function decided(
  base: CompiledTree,
  head: CompiledTree,
  needsUsage: boolean,
): Promise<DecidedJobs> {
  const input = {
    ...compiledSides(base, head, true),
    promoted: null,
    assertions: [],
    deadline: Date.now() + 600_000,
  };
  return await decideJobs(jobRunner(input), { workers: 1 }, WATCH, needsUsage);
}

describe("policies in common styles", () => {
  let base: CompiledTree;
  let all: DecidedJobs;

  beforeAll(async () => {
    const [before, after] = await Promise.all([sideOf(false), sideOf(true)]);
    base = before;
    all = await decided(before, after, true);
  }, 240_000);

  it("all at once are decided for every request", () => {
    expect(all.cut).toEqual([]);
    expect(all.tally.classes).toBeGreaterThan(10_000);
  });

  it.for(STYLES)("%s, changed, is evaluated a bounded number of times", (style) => {
    const evaluations = all.tally.evaluations.get(style) ?? 0;
    expect(evaluations).toBeGreaterThan(0);
    expect(evaluations).toBeLessThanOrEqual(MORE[style] ?? MOST);
  });

  it("on two equal sides are not evaluated, unless unused rules are wanted", async () => {
    const { tally, cut } = await decided(base, base, false);
    expect([cut, [...tally.evaluations], tally.classes]).toEqual([[], [], 0]);
    expect(tally.shapes).toBe(all.tally.shapes);
  });
});
