import { describe, expect, it } from "vitest";
import { formatJson } from "../../../src/simulate/report/format-json.ts";
import { runSimulation } from "../../../src/simulate/run-simulation.ts";
import { policySource } from "../../policy/samples.ts";
import { endpoint, model, route, table, workspace } from "../../support/table.ts";
import {
  pathLines,
  REQUEST,
  shown,
  sideOf,
  simulate,
  WATCH,
  withAssertions,
} from "../small-sides.ts";

const alone = table({ routes: [route("r", "a", [])] });
const wide = table();
const sleeps = policySource(
  "hours",
  { awake: "{effect: gate, reasons: [ASLEEP]}" },
  'pass.awake if input.time.hour != "night"',
);

describe("small changes", () => {
  it("an added fallback is one group, with a new data path of each operation", async () => {
    const { declared } = await simulate(await sideOf(alone), await sideOf(wide));
    expect(declared.access).toBe("more_permissive");
    expect(declared.groups.map(shown)).toContainEqual({
      kinds: "fallbacks_widened",
      who: "w: r",
      operations: expect.stringContaining("chat.completions"),
      conditions: expect.any(Array),
      base: "a",
      head: "a b",
    });
    expect(pathLines(declared.new_data_paths)).toContain("w chat.completions → q us-east (r)");
    expect(declared.lost_data_paths).toEqual([]);
    const back = await simulate(await sideOf(wide), await sideOf(alone));
    expect(back.declared).toMatchObject({ access: "less_permissive", new_data_paths: [] });
    expect(pathLines(back.declared.lost_data_paths)).toEqual(pathLines(declared.new_data_paths));
  });

  it("a changed on_gap changes requests whose needs the fallback does not meet", async () => {
    const endpoints = [endpoint("a"), endpoint("b", { provider: "q", capabilities: [] })];
    const side = (onGap: "deny" | "narrow") =>
      sideOf(table({ endpoints, routes: [route("r", "a", ["b"], { onGap })] }));
    const { declared } = await simulate(await side("deny"), await side("narrow"));
    expect(declared.changed_classes).toBeGreaterThan(0);
  });

  it("two changed routes have groups that name the endpoints of their own route", async () => {
    const rows = {
      models: [model("m"), model("n")],
      endpoints: [endpoint("a"), endpoint("b", { model: "n" })],
      routes: [route("r", "a", []), route("t", "b", [])],
    };
    const base = table({ ...rows, workspaces: [workspace("w", { routes: [] })] });
    const head = table({ ...rows, workspaces: [workspace("w", { routes: ["r", "t"] })] });
    const { declared } = await simulate(await sideOf(base), await sideOf(head));
    const reached = declared.groups.map(({ routes, head: { plan }, example }) =>
      [
        routes.join(" "),
        ...plan.map(({ endpoint: id, model: name }) => `${id}/${name}`),
        example.model,
      ].join(" "),
    );
    expect(new Set(reached.filter((line) => line.includes("/")))).toEqual(
      new Set(["r a/m r", "t b/n t"]),
    );
  });

  it("a policy in shadow changes nothing as declared, and adds its denials as if promoted", async () => {
    const [base, head] = [await sideOf(alone), await sideOf(alone, [sleeps], ["hours"])];
    const report = await simulate(base, head);
    expect(report.declared).toMatchObject({ access: "equivalent", groups: [] });
    expect(report.promoted_policies).toEqual(["hours"]);
    expect(report.promoted.access).toBe("less_permissive");
    const [group] = report.promoted.groups;
    expect(group === undefined ? null : shown(group)).toMatchObject({
      kinds: "newly_denied",
      head: "hours/awake ASLEEP",
      conditions: expect.arrayContaining(["time: weekday night weekend night"]),
    });
    const one = await simulate(head, head, { promote: [{ id: "hours", digestPrefix: null }] });
    expect(one.promoted.groups).toEqual(report.promoted.groups);
    expect(one.declared.groups).toEqual([]);
  });
});

describe("a simulation that is not done in time", () => {
  it("is incomplete, and lists the cut dimensions", async () => {
    const [base, head] = [await sideOf(alone, [sleeps]), await sideOf(wide, [sleeps])];
    const { complete, cut, findings } = await simulate(base, head, { timeLimit: 0 });
    expect({ complete, findings }).toEqual({ complete: false, findings: [] });
    expect(cut).toMatchObject([{ dimension: "workspaces_and_routes" }]);
    for (const { values, kept } of cut) expect(kept).toBeLessThan(values);
    const whole = await simulate(base, head);
    expect(whole).toMatchObject({ complete: true, cut: [] });
  });
});

describe("threads", () => {
  it("an abort rejects with its reason", async () => {
    const stopped = new AbortController();
    stopped.abort(new Error("enough"));
    const side = await sideOf(wide, [sleeps]);
    await expect(
      runSimulation(side, side, { ...REQUEST, workers: 2 }, { ...WATCH, signal: stopped.signal }),
    ).rejects.toThrow("enough");
  });

  it("give the same bytes for any number of them", async () => {
    const [base, head] = [await sideOf(alone, [sleeps], ["hours"]), await sideOf(wide, [sleeps])];
    const alike = formatJson(await simulate(base, head));
    for (const workers of [2, 3]) {
      expect(formatJson(await simulate(base, head, { workers, threadsAfter: 0 }))).toBe(alike);
    }
  });

  it("end when the run is stopped", async () => {
    const stopped = new AbortController();
    const [base, head] = [await sideOf(alone, [sleeps]), await sideOf(wide, [sleeps])];
    const onProgress = (): void => stopped.abort(new Error("enough"));
    const watch = { onProgress, signal: stopped.signal };
    await expect(
      runSimulation(base, head, { ...REQUEST, workers: 2, threadsAfter: 0 }, watch),
    ).rejects.toThrow("enough");
  });
});

describe("assertions that fail", () => {
  const stays = {
    kind: "implies",
    id: "stays-at-p",
    title: "",
    view: "both",
    waiver: null,
    may_be_empty: false,
    location: { file: "policies/assertions.yaml", line: 1, column: 1 },
    for: {},
    except: null,
    if: { outcome: "route" },
    // oxlint-disable-next-line unicorn/no-thenable -- the assertion's own member
    then: { every_endpoint: { providers: ["p"] } },
  } as const;
  const failing = async (base: Awaited<ReturnType<typeof sideOf>>) => {
    const report = await simulate(base, await sideOf(wide), {
      assertions: withAssertions([stays]),
    });
    return report.assertions?.results.map(({ status, fails_in_base: known }) => [status, known]);
  };

  it("are distinguished by whether base fails them too", async () => {
    expect(await failing(await sideOf(alone))).toEqual([["FAIL", false]]);
    expect(await failing(await sideOf(wide))).toEqual([["FAIL", true]]);
  });
});
