import { describe, expect, it } from "vitest";
import { formatJson } from "../../../src/simulate/report/format-json.ts";
import { removalDigest } from "../../../src/lifecycle/lifecycle.ts";
import type { Assertion } from "../../../src/simulate/assertions/schema.ts";
import { policySource } from "../../policy/samples.ts";
import { route, table } from "../../support/table.ts";
import { shown, sideOf, simulate, withAssertions } from "../small-sides.ts";

const alone = table({ routes: [route("r", "a", [])] });
const wide = table();

/** A gate on the hour; `night` and `morning` are two contents of one policy. */
const sleeps = (hour: string) =>
  policySource(
    "hours",
    { awake: "{effect: gate, reasons: [ASLEEP]}" },
    `pass.awake if input.time.hour != "${hour}"`,
  );
const [night, morning] = [sleeps("night"), sleeps("morning")];
const rules = (digest: string, slot: string, from: string) => ({
  id: "hours",
  digest,
  slot,
  content: "rules",
  from,
});
const digestOf = ({ policies }: Awaited<ReturnType<typeof sideOf>>): string =>
  policies.policies[0]?.digest ?? "";

describe("an enforced policy that is changed", () => {
  it("decides like base as declared, and like head if promoted", async () => {
    const [base, head] = [await sideOf(alone, [night]), await sideOf(alone, [morning])];
    const report = await simulate(base, head);
    expect(report.declared).toMatchObject({ access: "equivalent", changed_classes: 0 });
    expect(report.promoted.access).toBe("incomparable");
    expect(report.promoted.groups.map(shown)).toContainEqual(
      expect.objectContaining({ kinds: "newly_denied", base: "a", head: "hours/awake ASLEEP" }),
    );
    expect(report.base.policies).toEqual([rules(digestOf(base), "enforced", "base")]);
    expect(report.head.policies).toEqual([
      rules(digestOf(base), "enforced", "base"),
      rules(digestOf(head), "candidate", "head"),
    ]);
    expect(report.promoted_policies).toEqual(["hours"]);
    const promoted = await simulate(base, head, { promote: [{ id: "hours", digestPrefix: null }] });
    expect(promoted.promoted).toEqual(report.promoted);
    const other = await simulate(base, head, { promote: [] });
    expect(other.promoted).toEqual(report.declared);
  });

  it("decides as changed where no server has seen either", async () => {
    const [base, head] = [await sideOf(alone, [night]), await sideOf(alone, [morning])];
    const [fresh, following] = [
      await simulate(base, head, { fresh: true }),
      await simulate(base, head),
    ];
    expect(fresh.fresh).toBe(true);
    expect(fresh.declared.groups.map(({ id }) => id)).toEqual(
      following.promoted.groups.map(({ id }) => id),
    );
    expect(fresh.head.policies).toEqual([rules(digestOf(head), "enforced", "head")]);
    expect(fresh.promoted_policies).toEqual([]);
  });

  it("is evaluated with head's own table, as on a server", async () => {
    const everywhere = policySource(
      "regions",
      { known: "{effect: gate, reasons: [UNKNOWN]}" },
      'pass.known if count(data.approved.regions[input.workspace.id]) > 1\n\npass.known if input.workspace.id == "nobody"',
    );
    const changed = policySource(
      "regions",
      { known: "{effect: gate, reasons: [UNKNOWN]}" },
      "pass.known := true",
    );
    const narrow = table({
      routes: [route("r", "a", [])],
      workspaces: Object.values(alone.workspaces).map((row) => ({
        ...row,
        approve: { ...row.approve, regions: ["eu-west"] },
      })),
    });
    const { declared, promoted } = await simulate(
      await sideOf(alone, [everywhere]),
      await sideOf(narrow, [changed]),
    );
    expect(declared.groups.map(shown)).toContainEqual(
      expect.objectContaining({ kinds: "newly_denied", head: "regions/known UNKNOWN" }),
    );
    // Only who names the region that is approved no more is refused.
    const reasons = new Set(
      promoted.groups.map(({ head }) => `${head.denial?.constraint} ${head.denial?.reason}`),
    );
    expect([...reasons]).toEqual(["region unknown_preference"]);
  });

  it("is reported before its promotion where it could not be evaluated any more", async () => {
    const broken = policySource(
      "hours",
      { awake: "{effect: gate, reasons: [ASLEEP]}" },
      ["pass.awake if input.request.stream", "pass.awake := false if input.request.stream"].join(
        "\n\n",
      ),
    );
    const { declared, promoted } = await simulate(
      await sideOf(alone, [night]),
      await sideOf(alone, [broken]),
    );
    expect(declared.kinds).toEqual([]);
    expect(promoted.kinds.map(({ kind }) => kind)).toContain("indeterminate_new");
  });
});

describe("an enforced policy that is deleted", () => {
  it("is enforced until its removal is promoted", async () => {
    const [base, head] = [await sideOf(alone, [night]), await sideOf(alone)];
    const report = await simulate(base, head);
    expect(report.declared).toMatchObject({ access: "equivalent", changed_classes: 0 });
    expect(report.promoted.groups.map(shown)).toContainEqual(
      expect.objectContaining({ kinds: "newly_allowed", base: "hours/awake ASLEEP", head: "a" }),
    );
    expect(report.head.policies).toEqual([
      rules(digestOf(base), "enforced", "base"),
      {
        id: "hours",
        digest: removalDigest("hours"),
        slot: "candidate",
        content: "removal",
        from: "head",
      },
    ]);
    expect(report.promoted_policies).toEqual(["hours"]);
    // The rule that is taken away stands in base alone.
    expect(report.promoted.groups[0]?.location).toMatchObject({
      file: "policies/hours.rego",
      side: "base",
    });
    const promoted = await simulate(base, head, { promote: [{ id: "hours", digestPrefix: null }] });
    expect(promoted.promoted).toEqual(report.promoted);
    expect((await simulate(base, head, { fresh: true })).declared.groups.length).toBeGreaterThan(0);
  });

  it("is gone at once where it was only in shadow", async () => {
    const report = await simulate(await sideOf(alone, [night], ["hours"]), await sideOf(alone));
    expect(report.head.policies).toEqual([]);
    expect(report.promoted.groups.map(shown)).toContainEqual(
      expect.objectContaining({ kinds: "newly_allowed" }),
    );
  });
});

describe("the mode of a policy in a store", () => {
  it.each([
    ["enforced", ["hours"], []],
    ["candidate", [], ["hours"]],
  ] as const)("stays %s when initial_mode changes later", async (_, after, before) => {
    const base = await sideOf(alone, [night], before);
    const head = await sideOf(alone, [night], after);
    const { declared, promoted, ...report } = await simulate(base, head);
    expect(declared.changed_classes).toBe(0);
    expect(promoted.changed_classes).toBe(0);
    expect(report.head.policies[0]?.slot).toBe(report.base.policies[0]?.slot);
    const fresh = await simulate(base, head, { fresh: true });
    expect(fresh.declared.changed_classes).toBeGreaterThan(0);
  });

  it("a policy in shadow stays there when it and its initial_mode change together", async () => {
    const [base, head] = [await sideOf(alone, [night], ["hours"]), await sideOf(alone, [morning])];
    const report = await simulate(base, head);
    expect(report.declared.changed_classes).toBe(0);
    expect(report.promoted.changed_classes).toBeGreaterThan(0);
    expect(report.head.policies).toEqual([rules(digestOf(head), "candidate", "head")]);
  });

  it("a new policy starts in its initial_mode", async () => {
    const report = await simulate(await sideOf(alone), await sideOf(alone, [night]));
    expect(report.declared.access).toBe("less_permissive");
  });
});

describe("a policy with two contents under one name", () => {
  const gates = (first: string, second: string) =>
    policySource(
      "hours",
      {
        awake: `{effect: gate, reasons: [${first}]}`,
        [second]: "{effect: gate, reasons: [NEVER]}",
      },
      `pass.awake if input.time.hour != "night"\n\npass.${second} := true`,
    );

  it("has head's files in findings and coverage", async () => {
    const coverage = { gates: [], except: [] };
    const held = {
      file: "policies/assertions.yaml",
      assertions: { assertions: [], coverage },
      changes: [],
    };
    const [base, head] = [
      await sideOf(alone, [gates("OLD", "gone")]),
      await sideOf(alone, [gates("NEW", "added")]),
    ];
    const report = await simulate(base, head, { assertions: held });
    const subjects = report.findings.map(({ subject }) => subject);
    expect(subjects).toContain("hours/added");
    expect(subjects.filter((subject) => /OLD|gone/.test(subject))).toEqual([]);
    const named = report.assertions?.coverage.find(({ what }) => what === "reasons");
    expect(named).toMatchObject({ covered: 1, of: 2, missing: ["hours/added/NEVER"] });
  });

  it("an effect of the old rules is not credited to the new ones", async () => {
    // The old content denies at night; the new one never does.
    const idle = policySource(
      "hours",
      { awake: "{effect: gate, reasons: [ASLEEP]}" },
      "pass.awake := true",
    );
    const { findings } = await simulate(await sideOf(alone, [night]), await sideOf(alone, [idle]));
    expect(findings).toContainEqual(
      expect.objectContaining({ kind: "policy_without_effect", subject: "hours" }),
    );
  });

  it("a denial by rules that are kept is looked up in base", async () => {
    const other = policySource(
      "hours",
      { awake: "{effect: gate, reasons: [ASLEEP]}" },
      "# moved\n\npass.awake := true",
    );
    const none = table({ routes: [route("r", "a", [])], workspaces: [] });
    const [base, head] = [await sideOf(none, [night]), await sideOf(alone, [other])];
    const { declared } = await simulate(base, head);
    const denied = declared.groups.find((group) => group.head.denial?.policy === "hours");
    expect(denied?.location).toMatchObject({ file: "policies/hours.rego", side: "base" });
    const line = night.text.split("\n")[(denied?.location?.line ?? 0) - 1];
    expect(line).toContain("pass.awake if");
  });
});

it("an assertion that only the promoted content violates fails where promotion is looked at", async () => {
  const asserting = (view: Assertion["view"]): Assertion => ({
    kind: "always_routable",
    min_endpoints: 1,
    for: {
      hours: ["morning"],
      needs: { only: [] },
      features: { only: ["conversation"] },
      operations: ["chat.completions"],
    },
    except: null,
    id: `by-${view}`,
    title: "Mornings",
    view,
    waiver: null,
    may_be_empty: false,
    location: { file: "policies/assertions.yaml", line: 1, column: 1 },
  });
  const assertions = withAssertions([
    asserting("declared"),
    asserting("promoted"),
    asserting("both"),
  ]);
  const [base, head] = [await sideOf(alone, [night]), await sideOf(alone, [morning])];
  const results = (await simulate(base, head, { assertions })).assertions?.results ?? [];
  expect(results.map(({ id, status, message }) => [id, status, message])).toEqual([
    ["by-declared", "PASS", null],
    ["by-promoted", "FAIL", "as if promoted, the request is denied by hours/awake (ASLEEP)"],
    ["by-both", "FAIL", "as if promoted, the request is denied by hours/awake (ASLEEP)"],
  ]);
});

it("threads agree on kept contents", async () => {
  const [base, head] = [await sideOf(alone, [night]), await sideOf(wide, [morning])];
  const alike = formatJson(await simulate(base, head));
  expect(formatJson(await simulate(base, head, { workers: 3, threadsAfter: 0 }))).toBe(alike);
});

it("a pair of sides with equal policies has no more classes than one of fresh servers", async () => {
  const [base, head] = [await sideOf(alone, [night]), await sideOf(wide, [night])];
  expect((await simulate(base, head)).space).toEqual(
    (await simulate(base, head, { fresh: true })).space,
  );
});
