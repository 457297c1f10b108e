import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import type { Source } from "../../src/canon/diagnostic.ts";
import type {
  PolicyCandidate,
  PolicyData,
  PolicyEvaluation,
  PolicyInput,
} from "../../src/canon/policy.ts";
import {
  buildModules,
  compilePolicies,
  type CompiledPolicies,
} from "../../src/policy/compile-policies.ts";
import { nameTest, type PolicyModule, type StringUse } from "../../src/policy/compiled.ts";
import { createPolicySet } from "../../src/policy/policy-set.ts";
import { candidate, ordinaryInput, policySource, uncached as toolchain } from "./samples.ts";

const gate = { c: "{effect: gate, reasons: [FIRST, SECOND]}" };
const filter = { c: "{effect: filter, reasons: [FIRST, SECOND]}" };

/** Rules that see strings only as equal or not, in as many ways as there are. */
const BLIND: readonly Source[] = [
  policySource("equal-strings", gate, "pass.c if input.workspace.id == input.key.workload"),
  policySource(
    "shared-labels",
    gate,
    "pass.c if { some l in input.workspace.labels; l in input.key.labels }",
  ),
  policySource(
    "all-labels",
    gate,
    "pass.c if { every l in input.workspace.labels { l in input.key.labels } }",
  ),
  policySource(
    "label-numbers",
    gate,
    "pass.c if count(input.workspace.labels) > count(input.key.labels)",
  ),
  policySource(
    "equal-sets",
    gate,
    "pass.c if {l | some l in input.workspace.labels} == {l | some l in input.key.labels}",
  ),
  policySource(
    "literal",
    gate,
    'pass.c if "mm" in input.workspace.labels\n\npass.c if input.key.workload != "mm"',
  ),
  policySource(
    "approved",
    filter,
    "pass.c contains c.id if { some c in input.candidates; c.region in data.approved.regions[input.workspace.id] }",
  ),
  policySource(
    "grouped",
    filter,
    'pass.c contains c.id if { some c in input.candidates; some g, rs in data.regions; c.region in rs; g != "mm" }\n\nreason.c[c.id] := "SECOND" if { some c in input.candidates; c.provider == input.workspace.tier }',
  ),
  policySource(
    "pairs",
    filter,
    "seen contains [c.region, c.provider] if some c in input.candidates\n\npass.c contains c.id if { some c in input.candidates; some [r, c.region] in seen; r != c.region }",
  ),
  policySource(
    "positions",
    filter,
    "pass.c contains input.candidates[i].id if { some i; input.candidates[i].region == input.candidates[_].provider }",
  ),
  policySource(
    "member-names",
    gate,
    "pass.c if { some k; input.workspace[k] == k }\n\npass.c if { some k, _ in input.key; k in input.workspace.labels }",
  ),
  policySource(
    "types",
    gate,
    "pass.c if type_name(input.request.stream) in input.workspace.labels",
  ),
  policySource(
    "merged",
    gate,
    'pass.c if { o := object.union(input.key, {input.workspace.id: "mm"}); o.workload != "mm"; count(o) == 5 }',
  ),
  policySource(
    "groups-of-groups",
    gate,
    "pass.c if { some l in graph.reachable(data.regions, {input.workspace.id}); l in input.key.labels }",
  ),
  policySource(
    "greatest-rank",
    gate,
    'rank := {"mm": 1, "zz": 2}\n\npass.c if max({rank[l] | some l in input.workspace.labels}) > 1\n\npass.c if 2 in sort([count(input.key.labels), 3])',
  ),
  policySource(
    "searched-names",
    gate,
    'pass.c if startswith(input.workspace.id, "ab")\n\npass.c if { some l in input.workspace.labels; endswith(l, "c") }',
  ),
  policySource(
    "searched-key",
    gate,
    'pass.c if not contains(json.marshal(input.key), "ab")\n\npass.c if { t := json.marshal(input.workspace); contains(t, "ol") }',
  ),
  policySource(
    "joined-labels",
    gate,
    'pass.c if { all := array.concat(input.workspace.labels, input.key.labels); "mm" in array.reverse(all); count(all) > 2 }',
  ),
  policySource(
    "walked",
    gate,
    'pass.c if { walk(input, [path, value]); path[0] == "key"; count(path) > 2; value == "mm" }\n\npass.c if { walk(input.workspace, [path, "zz"]); "id" in path }',
  ),
  policySource(
    "searched-data",
    gate,
    'pass.c if contains(json.marshal(data.regions), "zz")\n\npass.c if contains(json.marshal(input.candidates), "mm")',
  ),
];

/** Rules that see more, each in a way of its own: the property has to find out about every one. */
const SEEING: readonly Source[] = [
  policySource(
    "start-of-string",
    gate,
    "pass.c if startswith(input.workspace.id, input.key.owner)",
  ),
  policySource("length-of-string", gate, "pass.c if count(input.workspace.id) > 2"),
  policySource("order-of-strings", gate, "pass.c if input.workspace.id < input.key.workload"),
  policySource(
    "order-of-sets",
    gate,
    "pass.c if {l | some l in input.workspace.labels} < {input.key.workload}",
  ),
  policySource("first-label", gate, "pass.c if input.workspace.labels[0] in input.key.labels"),
  policySource("least-label", gate, "pass.c if min(input.workspace.labels) in input.key.labels"),
  policySource(
    "sorted",
    gate,
    "pass.c if sort({input.workspace.id, input.key.workload})[0] == input.workspace.id",
  ),
  policySource(
    "position",
    gate,
    "pass.c if { some i, l in input.workspace.labels; input.key.labels[i] == l }",
  ),
  policySource(
    "taken-apart",
    gate,
    "pass.c if { [a, _] = input.workspace.labels; a in input.key.labels }",
  ),
  policySource(
    "mapped-list",
    gate,
    'pass.c if [x | some l in input.workspace.labels; x := {true: 1, false: 2}[l == "mm"]] == [1, 2]',
  ),
];

/** Strings around the literals of the samples, names of members and of types among them. */
const POOL = [
  "a",
  "ab",
  "abc",
  "id",
  "labels",
  "mm",
  "boolean",
  "string",
  "tier",
  "workload",
  "zz",
];

interface World {
  readonly data: fc.Arbitrary<PolicyData>;
  readonly input: fc.Arbitrary<PolicyInput>;
  readonly permutation: fc.Arbitrary<Permutation>;
}

/**
 * @param use strings that occur in the policies occur in inputs too, and no permutation moves them.
 */
function worldOf(use: Pick<StringUse, "strings" | "searches">): World {
  const literals = use.strings;
  const isFixed = nameTest(use);
  const pool = [...new Set([...POOL, ...literals])];
  const string = fc.oneof(fc.constantFrom(...POOL), fc.constantFrom(...pool));
  const strings = fc.uniqueArray(string, { maxLength: 3 }).map((list) => list.toSorted());
  const byString = fc.dictionary(string, strings, { maxKeys: 4 });
  const free = POOL.filter((one) => !isFixed(one));
  const positions = fc.uniqueArray(
    fc.record({ id: string, provider: string, region: string, model: string }),
    {
      selector: ({ id }) => id,
      maxLength: 4,
    },
  );
  return {
    data: fc.record({
      approved: fc.record({
        regions: byString,
        providers: byString,
        routes: byString,
        capabilities: fc.constant({}),
        dimensions: fc.constant({}),
      }),
      regions: byString,
    }),
    input: fc
      .record({
        workspace: fc.record({ id: string, tier: string, labels: strings }),
        key: fc.record({ environment: string, workload: string, owner: string, labels: strings }),
        candidates: positions.map((list) =>
          list.map((one): PolicyCandidate => candidate(one.id, one)),
        ),
      })
      .map((changes) => ordinaryInput(changes)),
    permutation: fc
      .shuffledSubarray(free, { minLength: free.length })
      .map((shuffled): Permutation => {
        const to = new Map(free.map((one, index) => [one, shuffled[index] ?? one]));
        return (text) => to.get(text) ?? text;
      }),
  };
}

/**
 * Applied to strings only: the other strings of an input are not in the pool, and names of members
 * stay.
 */
type Permutation = (text: string) => string;

function permutedList(list: readonly string[], p: Permutation): readonly string[] {
  return list.map(p).toSorted();
}

function permutedRecord(record: Readonly<Record<string, readonly string[]>>, p: Permutation) {
  return Object.fromEntries(
    Object.entries(record).map(([key, list]) => [p(key), permutedList(list, p)]),
  );
}

function permutedInput(input: PolicyInput, p: Permutation): PolicyInput {
  const { workspace, key, candidates } = input;
  return {
    ...input,
    workspace: {
      id: p(workspace.id),
      tier: p(workspace.tier),
      labels: permutedList(workspace.labels, p),
    },
    key: {
      environment: p(key.environment),
      workload: p(key.workload),
      owner: p(key.owner),
      labels: permutedList(key.labels, p),
    },
    candidates: candidates.map((one) => ({
      ...one,
      id: p(one.id),
      provider: p(one.provider),
      region: p(one.region),
      model: p(one.model),
    })),
  };
}

function permutedData({ approved, regions }: PolicyData, p: Permutation): PolicyData {
  return {
    approved: {
      ...approved,
      regions: permutedRecord(approved.regions, p),
      providers: permutedRecord(approved.providers, p),
      routes: permutedRecord(approved.routes, p),
    },
    regions: permutedRecord(regions, p),
  };
}

function summary(
  { verdicts }: PolicyEvaluation,
  p: Permutation = (text) => text,
): readonly string[] {
  return verdicts.map(
    ({ policy, constraint, verdict, reason, failing }) =>
      `${policy.id} ${constraint} ${verdict} ${reason ?? "-"} ${failing.map(p).join("+")}`,
  );
}

async function compile(sources: readonly Source[]): Promise<CompiledPolicies> {
  const compiled = await compilePolicies(sources, { cache: null, toolchain });
  expect(compiled.diagnostics).toEqual([]);
  return compiled;
}

/** Policies whose answer changed under a permutation of strings that none of them writes. */
async function differing(
  modules: readonly PolicyModule[],
  data: PolicyData,
  requested: readonly PolicyInput[],
  p: Permutation,
): Promise<readonly string[]> {
  const [plain, permuted] = await Promise.all(
    [data, permutedData(data, p)].map(async (one) => await createPolicySet({ modules }, [], one)),
  );
  const found = new Set<string>();
  for (const input of requested) {
    const expected = plain === undefined ? [] : summary(plain.evaluate(input), p);
    const actual =
      permuted === undefined ? [] : summary(permuted.evaluate(permutedInput(input, p)));
    expected.forEach((line, index) => {
      if (line !== actual[index]) found.add(line.split(" ", 1)[0] ?? "");
    });
  }
  return [...found];
}

const root = new URL("../../", import.meta.url);
const shipped = ["policies", "policies/lib", "policy-library"].flatMap((folder) =>
  readdirSync(new URL(folder, root))
    .filter((name) => name.endsWith(".rego") && !name.endsWith("_test.rego"))
    .map((name) => ({
      path: `${folder}/${name}`,
      text: readFileSync(new URL(`${folder}/${name}`, root), "utf8"),
    })),
);

describe("a policy that inspects nothing", () => {
  test.for([
    ["of these samples", BLIND],
    ["of those that come with Signalbox", shipped],
  ] as const)("gives the permuted answer for permuted strings: each %s", async ([, sources]) => {
    const compiled = await compile(sources);
    expect(compiled.policies.flatMap(({ stringUse: { inspects } }) => inspects)).toEqual([]);
    // One by one: a string that only one of them writes is free for the others.
    for (const policy of compiled.policies) {
      const modules = await buildModules([policy], toolchain);
      const { data, input, permutation } = worldOf(policy.stringUse);
      await fc.assert(
        fc.asyncProperty(
          data,
          fc.array(input, { minLength: 30, maxLength: 30 }),
          permutation,
          async (known, requested, p) => {
            expect(await differing(modules, known, requested, p)).toEqual([]);
          },
        ),
        { numRuns: 8 },
      );
    }
  });
});

describe("a policy that inspects something", () => {
  let compiled: CompiledPolicies;

  beforeAll(async () => {
    compiled = await compile(SEEING);
  }, 60_000);

  test("is reported with its inspections", () => {
    expect(
      compiled.policies.filter(({ stringUse: { inspects } }) => inspects.length === 0),
    ).toEqual([]);
  });

  test("fails the property of permuted strings, for each of these policies", async () => {
    const { data, input, permutation } = worldOf({ strings: ["mm"] });
    const samples = fc.sample(
      fc.tuple(data, fc.array(input, { minLength: 60, maxLength: 60 }), permutation),
      {
        numRuns: 12,
        seed: 9,
      },
    );
    const found = new Set<string>();
    for (const [known, requested, p] of samples)
      for (const id of await differing(compiled.modules, known, requested, p)) found.add(id);
    expect([...found].toSorted()).toEqual(compiled.policies.map(({ contract: { id } }) => id));
  });
});
