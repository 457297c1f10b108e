import fc from "fast-check";
import { expect, it } from "vitest";
import { formatMarkdown } from "../../../../src/cli/simulate/formats/markdown.ts";
import { conditionsText } from "../../../../src/cli/simulate/formats/screen/conditions.ts";
import { effectsOf, isOnlyCounted } from "../../../../src/cli/simulate/formats/screen/effects.ts";
import { screenOf } from "../../../../src/cli/simulate/formats/screen/screen.ts";
import { firstScreen } from "../../../../src/cli/simulate/formats/terminal.ts";
import { modelOf, type ReportModel } from "../../../../src/cli/simulate/formats/model.ts";
import { renderLines } from "../../../../src/cli/terminal/printing.ts";
import { BUDGET_STEPS } from "../../../../src/canon/limits.ts";
import { DAY_BUCKETS, HOUR_BUCKETS } from "../../../../src/canon/policy.ts";
import { changeKinds, destinationsOf } from "../../../../src/simulate/compare/change-kinds.ts";
import { groupKey } from "../../../../src/simulate/compare/comparison-tally.ts";
import { decideSample, outcomeOf } from "../../../../src/simulate/decide-sample.ts";
import { PLAIN_SCALARS } from "../../../../src/simulate/request-scalars.ts";
import { groupsOfCause, membersOf } from "../../../../src/simulate/report/cause-parts.ts";
import type { ChangeGroup } from "../../../../src/simulate/report/report.ts";
import { preferenceValues, type SampleRequest } from "../../../../src/simulate/sample-request.ts";
import { compiledSides, type CompiledSides } from "../../../../src/simulate/side-contents.ts";
import { textDigest } from "../../../../src/simulate/text-digest.ts";
import { sideViews } from "../../../../src/simulate/views.ts";
import { policyPool, sideOfFacts, twoSides } from "../../../simulate/random-sides.ts";
import { simulate } from "../../../simulate/small-sides.ts";
import { fewOrMany } from "../../../support/long.ts";

type GroupOf = (sample: SampleRequest) => string;

/** The id of the group that a request is in, as declared. */
async function groupsBy({ base, head }: CompiledSides): Promise<GroupOf> {
  const views = await Promise.all([base, head].map((side) => sideViews(side, () => false)));
  const destinations = { base: destinationsOf(base.table), head: destinationsOf(head.table) };
  return (sample) => {
    const [was, is] = [base, head].map(({ table }, index) => {
      const policies = views[index]?.declared;
      if (policies === undefined) throw new Error("no such view");
      return outcomeOf(decideSample(table, policies, sample));
    });
    if (was === undefined || is === undefined) throw new Error("two sides");
    const kinds = changeKinds(was, is, destinations);
    return textDigest(groupKey({ base: was, head: is, kinds }));
  };
}

const PREFERENCES = new Set(preferenceValues(null).map(([name]) => name));

/** Plain requests of a group's first workspace, route and operation, with every key and hour. */
function* plainRequests({ example }: ChangeGroup): Generator<SampleRequest> {
  const { budget: _, ...plain } = {
    ...example,
    ...PLAIN_SCALARS,
    preferences: null,
    needs: [],
    signatureFamilies: [],
    dimensions: null,
  };
  for (const environment of ["production", "staging", "testing", "other"])
    for (const workload of ["web", "batch", ""])
      for (const owner of [{}, { owner: "group:pay" }, { owner: "group:web" }, { owner: "eu" }])
        for (const labels of [[], ["eu"], ["vip"], ["eu", "vip"]])
          for (const budget of BUDGET_STEPS)
            for (const day of DAY_BUCKETS)
              for (const hour of HOUR_BUCKETS)
                yield {
                  ...plain,
                  key: { environment, workload, labels, ...owner },
                  time: { ...example.time, day, hour },
                  ...(budget === "unlimited" ? {} : { budget }),
                };
}

function meets(
  { key, time, budget = "unlimited", ...sample }: SampleRequest,
  { dimension, values }: ChangeGroup["conditions"][number],
): boolean {
  if (dimension === "key_labels") return values.every((label) => key.labels.includes(label));
  if (dimension === "without_key_labels")
    return !values.some((label) => key.labels.includes(label));
  const found = new Map<string, string>([
    ["environment", key.environment],
    ["workload", key.workload || "other"],
    ["owner", key.owner ?? "other"],
    ["budget", budget],
    ["time", `${time.day} ${time.hour}`],
    ["stream", String(sample.stream)],
    ["context", sample.context],
    ["max_output", sample.maxOutput],
    ["reasoning_effort", sample.reasoningEffort],
  ]);
  return values.includes(found.get(dimension) ?? "");
}

/**
 * A line without a condition stands for every plain request; one of several conditions is named.
 */
function expectPlainRequests(report: ReportModel, groupOf: GroupOf) {
  const met = { plain: 0, conditional: 0 };
  for (const group of report.declared.groups) {
    const { id, example, plain_requests: plain } = group;
    // Local clocks of the example are those of its hour.
    if (example.time.local !== undefined) continue;
    const text = conditionsText([group], report);
    const isPlain = text === "";
    if (!isPlain && plain === undefined) continue;
    if (plain?.any === true && plain.conditions.length === 0) {
      if (example.preferences === null) expect(text).toContain("some callers");
      continue;
    }
    met[isPlain ? "plain" : "conditional"] += 1;
    const { any = false, conditions = [] } = plain ?? {};
    for (const sample of plainRequests(group)) {
      const has = (one: ChangeGroup["conditions"][number]): boolean => meets(sample, one);
      const isMeant = any ? conditions.some(has) : conditions.every(has);
      // A comparison by vitest of each of some thousand requests would take longer than deciding
      // it.
      if ((groupOf(sample) === id) !== isMeant)
        expect.fail(`${text}: ${isMeant ? "lacks" : "also stands for"} ${JSON.stringify(sample)}`);
    }
    if (any)
      for (const { dimension } of conditions)
        if (dimension !== "time") expect(text).toContain(dimension.replace("without_", ""));
  }
  return met;
}

/**
 * A line has no fewer conditions than its requests: none without all plain requests, and none of
 * several is lost.
 */
function expectConditions(report: ReportModel, groupOf: GroupOf) {
  const met = { unconditional: 0, several: 0 };
  for (const group of report.declared.groups) {
    const { example, conditions, id } = group;
    const text = conditionsText([group], report);
    const plain: SampleRequest = {
      ...example,
      ...PLAIN_SCALARS,
      preferences: null,
      needs: [],
      signatureFamilies: [],
      dimensions: null,
      key: { ...example.key, labels: [] },
    };
    if (text === "") {
      met.unconditional += 1;
      expect([groupOf(plain), plain]).toEqual([id, plain]);
      continue;
    }
    // What callers set, or that it is only some of those with preferences.
    const chosen = Object.keys(example.preferences ?? {});
    if (chosen.length > 0 && groupOf(plain) !== id && !text.includes("some callers"))
      for (const name of chosen) expect(text).toContain(name);
    const own = conditions.filter(({ dimension }) => !PREFERENCES.has(dimension));
    const isNeeding = own.some(({ dimension }) => ["needs", "features"].includes(dimension));
    if (own.length > 2) met.several += 1;
    for (const { dimension } of own)
      if (dimension !== "time" && dimension !== "denied_for") expect(text).toContain(dimension);
      else if (dimension === "time") expect(text).toMatch(/only (?:on|in|at) /);
      else if (!isNeeding) expect(text).toContain("only with ");
  }
  return met;
}

/** Every newly denied group has a BREAKS line, on the terminal and in a comment. */
function expectRefusals(report: ReportModel) {
  let met = 0;
  const screen = screenOf(report, {});
  const rows = screen.rows.filter(({ tag }) => tag === "BREAKS");
  for (const cause of report.causes) {
    const breaks = effectsOf(cause, report).effects.filter(({ tag }) => tag === "BREAKS");
    for (const { group, promoted } of groupsOfCause(cause, report)) {
      if (!group.kinds.includes("newly_denied") || isOnlyCounted(group, cause)) continue;
      met += 1;
      for (const { workspace, routes } of membersOf(group))
        for (const route of routes)
          expect(
            breaks.filter(
              (effect) =>
                effect.promoted === promoted &&
                effect.workspaces.includes(workspace) &&
                effect.routes.includes(route),
            ),
            `${workspace} ${route} ${group.id}`,
          ).not.toEqual([]);
    }
    for (const { text } of breaks)
      expect(rows.filter((row) => row.text.startsWith(text))).not.toEqual([]);
  }
  const lines = renderLines(firstScreen(screen, false).first, { colour: false, width: 100 });
  expect(lines.match(/^BREAKS /gm) ?? []).toHaveLength(rows.length);
  const comment = formatMarkdown(report, { colour: false, width: 100, reportDigest: null });
  expect(comment.match(/^\| ❌ \*\*BREAKS\*\* /gm) ?? []).toHaveLength(rows.length);
  return { refusals: met };
}

it(
  "the lines of a report have the conditions of their requests, and every refused group has one",
  { timeout: 600_000 },
  async () => {
    const pool = await policyPool();
    const met = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(twoSides, async ({ base, head }) => {
        const [before, after] = [sideOfFacts(base, pool), sideOfFacts(head, pool)];
        const report = modelOf(await simulate(before, after));
        const groupOf = await groupsBy(compiledSides(before, after, false, null));
        const counts = {
          ...expectPlainRequests(report, groupOf),
          ...expectConditions(report, groupOf),
          ...expectRefusals(report),
        };
        for (const [kind, count] of Object.entries(counts))
          met.set(kind, (met.get(kind) ?? 0) + count);
      }),
      { numRuns: fewOrMany(6, 120), seed: 7, endOnFailure: true },
    );
    for (const [kind, count] of met) expect(count, kind).toBeGreaterThan(0);
  },
);
