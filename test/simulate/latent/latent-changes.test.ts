import { describe, expect, it } from "vitest";
import type { Source } from "../../../src/canon/diagnostic.ts";
import type { PolicyEvaluation } from "../../../src/canon/policy.ts";
import type { RoutingTable } from "../../../src/canon/table.ts";
import { createPolicySet } from "../../../src/policy/policy-set.ts";
import { policyData } from "../../../src/policy/input-schema.ts";
import type {
  LatentChange,
  LatentReport,
  SimulationReport,
} from "../../../src/simulate/report/report.ts";
import type { SimulationRequest } from "../../../src/simulate/request.ts";
import { endpoint, provider, table, workspace } from "../../support/table.ts";
import { compiledSources, sideOf, simulate } from "../small-sides.ts";

/**
 * A provider that keeps nothing and one in another region, which the regulated workspace does not
 * approve.
 */
const TABLE: RoutingTable = {
  ...table({
    providers: [provider("p"), provider("q", { region: "us-east", retention: "days_30" })],
    endpoints: [endpoint("a"), endpoint("b", { provider: "q", region: "us-east" })],
    workspaces: [workspace("w", { routes: ["r"], providers: ["p"] }, { tier: "regulated" })],
  }),
  regionGroups: { eu: ["eu-west"], us: ["us-east"] },
};

function policy(
  id: string,
  rules: string,
  contract = "ok: {effect: require_all, reasons: [NO]}",
): Source {
  const of = contract.includes("kind:") ? "obligations" : "constraints";
  return {
    path: `policies/${id}.rego`,
    text: `# METADATA
# scope: package
# title: A rule
# custom:
#   signalbox:
#     contract: 1
#     id: ${id}
#     owners: [group:a]
#     ${of}:
#       ${contract}
package signalbox.policy.${id.replaceAll("-", "_")}

${rules}
`,
  };
}

const passes = (condition: string): string => `pass.ok contains candidate.id if {
	some candidate in input.candidates
	${condition}
}
`;
const KEEPS_NOTHING = passes('candidate.retention == "none"');
const KEEPS_LESS = passes('candidate.retention != "unlimited"');

async function compared(
  base: readonly Source[],
  head: readonly Source[],
  {
    tables = [TABLE, TABLE],
    request = {},
  }: {
    readonly tables?: readonly [RoutingTable, RoutingTable];
    readonly request?: Partial<SimulationRequest>;
  } = {},
): Promise<SimulationReport> {
  return simulate(await sideOf(tables[0], base), await sideOf(tables[1], head), request);
}

const latentOf = async (...all: Parameters<typeof compared>): Promise<LatentReport | undefined> =>
  (await compared(...all)).future_rows;

function shown({ policy: id, view, direction, rule, where, every }: LatentChange): string {
  const conditions = where.map(({ path, values }) => `${path} ${values.join(" ")}`);
  return `${id}/${rule} ${direction} ${view}: ${conditions.join(", ")}${every ? "" : " (some)"}`;
}

const lines = async (...all: Parameters<typeof compared>): Promise<readonly string[] | undefined> =>
  (await latentOf(...all))?.changes.map(shown);

describe("latent changes", () => {
  it("a rule that is weaker for a value that no row has is no equivalent change", async () => {
    const report = await compared([policy("kept", KEEPS_NOTHING)], [policy("kept", KEEPS_LESS)]);
    expect(report.promoted.access).toBe("equivalent");
    expect(report.future_rows?.changes.map(shown)).toEqual([
      "kept/ok weaker promoted: candidates.retention transient days_30",
    ]);
    expect(report.future_rows).toMatchObject({ complete: true, tried: 3, of: "3" });
    expect(report.future_rows?.changes[0]?.location).toEqual({
      file: "policies/kept.rego",
      line: 13,
      column: 1,
      side: "head",
    });
  });

  it("a weaker rule is reported as declared for fresh servers", async () => {
    const both = [[policy("kept", KEEPS_NOTHING)], [policy("kept", KEEPS_LESS)]] as const;
    expect(await lines(...both, { request: { fresh: true } })).toEqual([
      "kept/ok weaker declared: candidates.retention transient days_30",
    ]);
  });

  it("a stricter rule is marked as stricter", async () => {
    expect(await lines([policy("kept", KEEPS_LESS)], [policy("kept", KEEPS_NOTHING)])).toEqual([
      "kept/ok stricter promoted: candidates.retention transient days_30",
    ]);
  });

  it("a name that only the policy has yet is tried as a value of future rows", async () => {
    const tier = (condition: string): Source =>
      policy("tier", `# signalbox: later gold, sealed\n${passes(condition)}`);
    expect(
      await lines(
        [tier('input.workspace.tier != "gold"\n\tnot "sealed" in input.workspace.labels')],
        [tier('input.workspace.tier != "gold"\n\tnot "sealed" in input.key.labels')],
      ),
    ).toEqual([
      "tier/ok stricter promoted: workspace.tier regulated (not declared) sealed, workspace.labels.sealed false, key.labels.sealed true",
      "tier/ok weaker promoted: workspace.tier regulated (not declared) sealed, workspace.labels.sealed true, key.labels.sealed false",
    ]);
  });

  it.each([
    ["a key of a table", 'ranks := {"gold": 1, "sealed": 2}', "ranks[input.workspace.tier]"],
    ["an argument of a function", "is(a, b) if a == b", 'is(input.workspace.tier, "gold")'],
    ["a rule with a key", "ranks.gold := 1", "ranks[input.workspace.tier]"],
  ])("a name that only %s has is tried without a comment", async (_, rules, condition) => {
    const tier = (own: string): Source => policy("tier", `${rules}\n\n${passes(own)}`);
    const found = await lines(
      [tier(`not ${condition}`)],
      [tier(`not ${condition.replace("tier", "id")}`)],
    );
    expect(found?.join()).toMatch(/tier\/ok weaker promoted: .*workspace\.tier gold/);
  });

  it("a policy that looks into names is listed, because not every name is tried", async () => {
    const named = (start: string): Source =>
      policy(
        "named",
        passes(
          `not startswith(input.workspace.id, "${start}")\n\tlower(input.workspace.tier) != "a"`,
        ),
      );
    const report = await compared([named("x-")], [named("y-")]);
    expect(report.future_rows).toMatchObject({
      looks_into_names: [
        { policy: "named", calls: ['a search for "x-"', 'a search for "y-"', "lower"] },
      ],
    });
    const same = await compared([policy("kept", KEEPS_NOTHING)], [policy("kept", KEEPS_LESS)]);
    expect(same.future_rows).not.toHaveProperty("looks_into_names");
  });

  it("another text of the same rule changes nothing", async () => {
    const same = passes('candidate.retention in {"none"}');
    expect(
      (await latentOf([policy("kept", KEEPS_NOTHING)], [policy("kept", same)]))?.changes,
    ).toEqual([]);
  });

  it("sides with the same policies have no latent changes", async () => {
    expect(
      await latentOf([policy("kept", KEEPS_NOTHING)], [policy("kept", KEEPS_NOTHING)]),
    ).toBeUndefined();
  });

  it("a change that requests of today show is not latent", async () => {
    const approving = table({
      providers: [provider("p", { retention: "days_30" }), provider("q")],
    });
    const report = await compared([policy("kept", KEEPS_NOTHING)], [policy("kept", KEEPS_LESS)], {
      tables: [approving, approving],
    });
    expect(report.promoted.kinds.map(({ kind }) => kind)).toContain("newly_allowed");
    // Transient and 30 days are the same to both rules: a request of today shows the change.
    expect(report.future_rows?.changes).toEqual([]);
  });

  it("an endpoint that no workspace may use yet counts as absent", async () => {
    const [change] =
      (await latentOf([policy("kept", KEEPS_NOTHING)], [policy("kept", KEEPS_LESS)]))?.changes ??
      [];
    expect(change?.where).toEqual([
      { path: "candidates.retention", values: ["transient", "days_30"] },
    ]);
  });

  it("a name that no file declares is tried beside those of both tables", async () => {
    const base = policy("near", passes("candidate.region in data.regions.eu"));
    const head = policy("near", passes("not candidate.region in data.regions.us"));
    expect(await lines([base], [head])).toEqual([
      "near/ok weaker promoted: candidates.region (not declared)",
    ]);
  });

  it("a region group that grows is weaker for its new region", async () => {
    const rule = [policy("near", passes("candidate.region in data.regions.eu"))];
    const wider = { ...TABLE, regionGroups: { eu: ["eu-north", "eu-west"], us: ["us-east"] } };
    expect(await lines(rule, rule, { tables: [TABLE, wider] })).toEqual([
      "near/ok weaker declared: candidates.region eu-north",
    ]);
  });

  it("a row that head no longer approves counts as existing for stricter rules", async () => {
    const rule = [policy("near", passes("candidate.region in data.regions.eu"))];
    const approving = (regions: readonly string[]): RoutingTable => ({
      ...table({
        providers: [provider("p"), provider("q")],
        endpoints: [endpoint("a"), endpoint("b", { provider: "q", region: "eu-north" })],
        workspaces: [workspace("w", { providers: ["p", "q"], regions: ["eu-west", ...regions] })],
      }),
      regionGroups: { eu: ["eu-west", ...regions], us: ["eu-north"] },
    });
    const both = { tables: [approving(["eu-north"]), approving([])] } as const;
    expect(await lines(rule, rule, both)).toEqual([]);
  });

  it("a removed policy denies nothing", async () => {
    const other = policy("other", passes("candidate.id != candidate.model"));
    expect(await lines([policy("kept", KEEPS_NOTHING), other], [other])).toEqual([
      "kept/ok weaker promoted: candidates.retention transient days_30 unlimited",
    ]);
  });

  it("a rule that moves into another policy is no change", async () => {
    const [base, head] = [[policy("kept", KEEPS_NOTHING)], [policy("retained", KEEPS_NOTHING)]];
    expect((await latentOf(base, head, { request: { fresh: true } }))?.changes).toEqual([]);
  });

  it("prices are tried at, between and beside the numbers of the policy", async () => {
    const cheap = (most: number): Source =>
      policy("cheap", passes(`candidate.price.output <= ${most}`));
    expect(await lines([cheap(5)], [cheap(50)])).toEqual([
      "cheap/ok weaker promoted: candidates.price.output 27.5 50",
    ]);
  });

  it("attributes of workspaces and requests that a policy reads are distinguished", async () => {
    const base = passes(
      'input.workspace.tier == "regulated"\n\t"tools" in input.request.needs\n\tcandidate.retention == "none"',
    );
    const head = passes(
      'input.workspace.tier == "regulated"\n\t"tools" in input.request.needs\n\tcandidate.retention != "unlimited"',
    );
    expect(await lines([policy("kept", base)], [policy("kept", head)])).toEqual([
      "kept/ok weaker promoted: candidates.retention transient days_30, workspace.tier regulated, request.needs.tools true",
    ]);
  });

  it("an obligation that is waived for a workspace that is not there is weaker", async () => {
    const short = "short: {kind: max_output_tokens, value: 100}";
    const base = policy("short", 'waive.short if input.workspace.tier == "regulated"', short);
    const head = policy("short", "waive.short if input.operation", short);
    const [change] = (await latentOf([base], [head]))?.changes ?? [];
    expect(change).toMatchObject({
      kind: "obligation",
      rule: "short",
      direction: "weaker",
      where: [{ path: "workspace.tier", values: ["(not declared)"] }],
    });
  });

  it("a policy that distinguishes very many values is tried near today's rows, and the report is marked", async () => {
    const needs = [
      "tools",
      "json_schema",
      "json_object",
      "image_input",
      "audio_input",
      "file_input",
      "reasoning",
    ];
    const more = [
      "web_search",
      "mcp",
      "logprobs",
      "prefill",
      "code_execution",
      "computer_use",
      "video_input",
    ];
    const lacking = [...needs, ...more]
      .map((need) => `not "${need}" in input.request.needs`)
      .join("\n\t");
    const rule = (retention: string): Source =>
      policy("kept", passes(`${lacking}\n\tcandidate.retention ${retention}`));
    const latent = await latentOf([rule('== "none"')], [rule('!= "unlimited"')]);
    expect(latent).toMatchObject({ complete: false });
    expect(latent?.tried).toBeLessThanOrEqual(20_000);
    expect(Number(latent?.of)).toBeGreaterThan(20_000);
    const [change] = latent?.changes ?? [];
    expect(change?.where[0]).toEqual({
      path: "candidates.retention",
      values: ["transient", "days_30"],
    });
  });

  it("the example input gets the verdicts in the report", async () => {
    const sources = [[policy("kept", KEEPS_NOTHING)], [policy("kept", KEEPS_LESS)]] as const;
    const [change] = (await latentOf(...sources))?.changes ?? [];
    if (change === undefined) throw new Error("no change");
    const evaluated = sources.map(async (side): Promise<PolicyEvaluation> => {
      const { modules } = await compiledSources(side);
      return (await createPolicySet({ modules }, [], policyData(TABLE))).evaluate(change.example);
    });
    const verdicts = (await Promise.all(evaluated)).map(
      ({ verdicts: [verdict] }) => verdict?.verdict,
    );
    expect(verdicts).toEqual(["fail", "pass"]);
  });
});
