import fc from "fast-check";
import { createHash } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { CAPABILITY_NAMES } from "../../src/canon/capability.ts";
import type { Source } from "../../src/canon/diagnostic.ts";
import { OPERATIONS } from "../../src/canon/operation.ts";
import type {
  PolicyEvaluation,
  PolicyIdentity,
  PolicyInput,
  PolicySet,
  PolicyVerdict,
} from "../../src/canon/policy.ts";
import { RETENTIONS } from "../../src/canon/table.ts";
import { buildModules, compilePolicies } from "../../src/policy/compile-policies.ts";
import { PolicyModuleError } from "../../src/policy/evaluator.ts";
import { policySetId, type PolicyModule } from "../../src/policy/compiled.ts";
import { LoadedModules } from "../../src/policy/loaded-modules.ts";
import { assemblePolicySet, createPolicySet } from "../../src/policy/policy-set.ts";
import { fewOrMany } from "../support/long.ts";
import { candidate, ordinaryInput, policySource, sampleData, toolchain } from "./samples.ts";

const gate = { gate: "{effect: gate, reasons: [NO]}" };
const listed = { listed: "{effect: require_all, reasons: [NOT_LISTED, ELSEWHERE]}" };

/**
 * Two values for one rule: WASM aborts. It happens for streamed requests only, so that a set can
 * fail and recover.
 */
const conflicting = policySource(
  "conflicting",
  gate,
  "pass.gate := verdict\n\nverdict := true if input.operation\n\nverdict := false if input.request.stream",
);

/** A million arrays: more than an evaluation may take. */
const voracious = policySource(
  "voracious",
  gate,
  [
    "digits := [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]",
    "",
    "pairs := [[x, y, z, u, v, w] |",
    "\tinput.request.stream",
    "\tsome x in digits; some y in digits; some z in digits; some u in digits; some v in digits; some w in digits",
    "]",
    "",
    "pass.gate if count(pairs) != 1",
  ].join("\n"),
);

const ordinary = [
  policySource("streaming", gate, "pass.gate if input.request.stream"),
  policySource("always", gate, "pass.gate if input.operation"),
  policySource(
    "in-europe",
    listed,
    [
      "pass.listed contains candidate.id if {",
      "\tsome candidate in input.candidates",
      "\tcandidate.region in data.regions.eu",
      "}",
      "",
      'reason.listed[candidate.id] := "ELSEWHERE" if {',
      "\tsome candidate in input.candidates",
      "\tcandidate.region in data.regions.us",
      "}",
    ].join("\n"),
  ),
  policySource(
    "embeddings-only",
    gate,
    "pass.gate if input.request.dimensions > 0",
    "[embeddings]",
  ),
];

async function modulesOf(sources: readonly Source[]): Promise<readonly PolicyModule[]> {
  const { modules, diagnostics } = await compilePolicies(sources, { cache: null, toolchain });
  expect(diagnostics).toEqual([]);
  return modules;
}

const streamed = (): PolicyInput =>
  ordinaryInput({ request: { ...ordinaryInput().request, stream: true } });

function summary({ verdicts }: PolicyEvaluation): readonly string[] {
  return verdicts.map(
    ({ policy, constraint, verdict, reason, failing }) =>
      `${policy.id}.${constraint} ${verdict} ${reason ?? "-"} ${failing.join("+") || "-"}`,
  );
}

describe("policy set", () => {
  let modules: readonly PolicyModule[] = [];
  let set: PolicySet;

  beforeAll(async () => {
    modules = await modulesOf(ordinary);
    set = await createPolicySet({ modules }, [], sampleData);
  }, 60_000);

  test("has a verdict for every constraint that applies, and for no other", () => {
    expect(summary(set.evaluate(ordinaryInput()))).toEqual([
      "always.gate pass - -",
      "in-europe.listed fail ELSEWHERE in-us",
      "streaming.gate fail NO -",
    ]);
    expect(summary(set.evaluate(ordinaryInput({ operation: "embeddings" })))).toContain(
      "embeddings-only.gate fail NO -",
    );
  });

  test("revision and mode are read from the states, by digest; the enforced slot is first", async () => {
    const digestOf = (id: string) =>
      modules[0]?.units.find(({ policy }) => policy.contract.id === id)?.policy.digest ?? "";
    const states = [
      { id: "streaming", digest: digestOf("streaming"), revision: 7, mode: "enforce" },
      { id: "in-europe", digest: "another content", revision: 3, mode: "enforce" },
    ] as const;
    const { policies } = await createPolicySet({ modules }, states, sampleData, (id) =>
      id === "always" ? "enforce" : "shadow",
    );
    expect(policies.map(({ identity: { id, revision, slot } }) => [id, revision, slot])).toEqual([
      ["always", 0, "enforced"],
      ["embeddings-only", 0, "candidate"],
      ["in-europe", 0, "enforced"],
      ["streaming", 7, "enforced"],
    ]);
    expect(set.policies.every(({ identity }) => identity.slot === "candidate")).toBe(true);
  });

  test("a set evaluates with the data of its creation", async () => {
    const moved = { ...sampleData, regions: { eu: ["us-east", "eu-west"] } };
    const other = await createPolicySet({ modules }, [], moved);
    expect(summary(other.evaluate(ordinaryInput()))).toContain("in-europe.listed pass - -");
  });

  test("an empty set has no verdicts", async () => {
    const empty = await createPolicySet({ modules: [] }, [], sampleData);
    expect(empty.policies).toEqual([]);
    expect(empty.evaluate(ordinaryInput())).toEqual({ verdicts: [], obligations: [] });
    expect(empty.readsTime).toBe(false);
  });

  test("several modules form one set", async () => {
    const apart = (
      await Promise.all(ordinary.toReversed().map(async (source) => await modulesOf([source])))
    ).flat();
    const joined = await createPolicySet({ modules: apart }, [], sampleData);
    expect(joined.policies).toEqual(set.policies);
    expect(joined.evaluate(streamed())).toEqual(set.evaluate(streamed()));
  });

  test.for([
    ["no module", Uint8Array.from([1, 2, 3])],
    ["an empty module", Uint8Array.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0])],
  ] as const)("bytes that are %s are refused without their text", async ([, bytes]) => {
    const damaged = modules.map((module) => ({ ...module, bytes }));
    const error = await createPolicySet({ modules: damaged }, [], sampleData).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(PolicyModuleError);
    expect(String(error)).not.toMatch(/wasm|expected|magic/i);
  });

  test("a module without its entrypoint is refused", async () => {
    const wrong = modules.map((module) => ({
      ...module,
      units: module.units.map((unit) => ({ ...unit, entrypoint: "signalbox/decide/no" })),
    }));
    await expect(createPolicySet({ modules: wrong }, [], sampleData)).rejects.toThrow(
      /lacks the entrypoint/,
    );
  });

  test("data that does not fit into the engine's memory is refused", async () => {
    const huge = {
      ...sampleData,
      regions: { eu: Array.from({ length: 2_000_000 }, (_, index) => `region-${index}`) },
    };
    await expect(createPolicySet({ modules }, [], huge)).rejects.toBeInstanceOf(PolicyModuleError);
  });
});

describe("policies of one module and each in its own", { timeout: 120_000 }, () => {
  const someLabels = fc.uniqueArray(fc.constantFrom("eu", "tools", "production"), { maxLength: 3 });
  const inputs: fc.Arbitrary<PolicyInput> = fc
    .record({
      operation: fc.constantFrom(...OPERATIONS),
      tier: fc.constantFrom("standard", "regulated"),
      labels: someLabels,
      environment: fc.constantFrom("production", "staging", "other"),
      needs: fc.uniqueArray(fc.constantFrom(...CAPABILITY_NAMES), { maxLength: 4 }),
      stream: fc.boolean(),
      dimensions: fc.constantFrom(0, 1024),
      candidates: fc.uniqueArray(
        fc.record({
          id: fc.constantFrom("a", "b", "c", "ü-endpoint"),
          region: fc.constantFrom("eu-west", "us-east", "moon"),
          retention: fc.constantFrom(...RETENTIONS),
          trains_on_data: fc.boolean(),
        }),
        { minLength: 1, selector: ({ id }) => id },
      ),
    })
    .map(({ operation, tier, labels, environment, needs, stream, dimensions, candidates }) => {
      const input = ordinaryInput();
      return {
        ...input,
        operation,
        workspace: { id: "demo", tier, labels },
        key: { ...input.key, environment },
        request: { ...input.request, needs, stream, dimensions },
        candidates: candidates.map(({ id, ...changes }) => candidate(id, changes)),
      };
    });

  test("a shadow policy that fails repeatedly changes no other verdict", async () => {
    const quiet = await createPolicySet({ modules: await modulesOf(ordinary) }, [], sampleData);
    const disturbed = await createPolicySet(
      { modules: await modulesOf([...ordinary, conflicting]) },
      [],
      sampleData,
    );
    fc.assert(
      fc.property(inputs, (input) => {
        const evaluation = disturbed.evaluate(input);
        const others = evaluation.verdicts.filter(({ policy }) => policy.id !== "conflicting");
        expect(others).toEqual(quiet.evaluate(input).verdicts);
        expect(summary(evaluation)).toContain(
          input.request.stream
            ? "conflicting.gate indeterminate EVALUATION_INDETERMINATE -"
            : "conflicting.gate pass - -",
        );
      }),
      { numRuns: fewOrMany(200, 2_000) },
    );
  });
});

describe("a set of slots", { timeout: 180_000 }, () => {
  /**
   * Two contents of two policies; the second ones are candidates. `conflicting` fails for streamed
   * requests.
   */
  const earlier = [
    policySource("streaming", gate, "pass.gate if not input.request.stream"),
    policySource("always", gate, "pass.gate if input.request.zdr"),
  ];
  const placed = (
    module: PolicyModule,
    slot: PolicyIdentity["slot"],
    revision: number,
  ): readonly PolicyIdentity[] =>
    module.units.map(({ policy }) => ({
      id: policy.contract.id,
      digest: policy.digest,
      revision,
      slot,
    }));
  const only = async (sources: readonly Source[]): Promise<PolicyModule> => {
    const [module] = await modulesOf(sources);
    if (module === undefined) throw new Error("no module");
    return module;
  };
  let files: PolicyModule;
  let apart: readonly PolicyModule[];
  let loaded: LoadedModules;
  beforeAll(async () => {
    files = await only([...ordinary, conflicting]);
    apart = await Promise.all(earlier.map((source) => only([source])));
    loaded = await LoadedModules.load([files, ...apart], sampleData);
  }, 180_000);

  const enforced = (): readonly PolicyIdentity[] =>
    apart.flatMap((module) => placed(module, "enforced", 1));
  const candidates = (): readonly PolicyIdentity[] => placed(files, "candidate", 2);

  test("evaluates the contents of its slots and no others, in order, in every arrangement of modules", async () => {
    const set = assemblePolicySet(loaded, [...candidates(), ...enforced()]);
    expect(
      set.policies.map(({ identity: { id, slot, revision } }) => `${id} ${slot} r${revision}`),
    ).toEqual([
      "always enforced r1",
      "always candidate r2",
      "conflicting candidate r2",
      "embeddings-only candidate r2",
      "in-europe candidate r2",
      "streaming enforced r1",
      "streaming candidate r2",
    ]);
    const few = [...enforced(), ...candidates().filter(({ id }) => id === "in-europe")];
    const smaller = assemblePolicySet(loaded, few);
    expect(smaller.policies).toHaveLength(3);
    for (const input of [ordinaryInput(), streamed()]) {
      const ids = new Set(few.map(({ digest }) => digest));
      const { verdicts } = set.evaluate(input);
      expect(verdicts.map(({ policy }) => policy.digest)).toHaveLength(6);
      expect(smaller.evaluate(input).verdicts).toEqual(
        verdicts.filter(({ policy }) => ids.has(policy.digest)),
      );
    }
    expect(assemblePolicySet(loaded, []).evaluate(streamed())).toEqual({
      verdicts: [],
      obligations: [],
    });
  });

  test("a failure in one module, in a slot or not, changes no verdict of another content", () => {
    const everything = [...enforced(), ...candidates()];
    const members = fc.subarray(everything.map((_, index) => index));
    fc.assert(
      fc.property(members, fc.boolean(), (chosen, stream) => {
        const slots = everything.filter((_, index) => chosen.includes(index));
        const input = stream ? streamed() : ordinaryInput();
        const together = assemblePolicySet(loaded, slots).evaluate(input).verdicts;
        const each = slots.map(
          (slot) => assemblePolicySet(loaded, [slot]).evaluate(input).verdicts,
        );
        const key = ({ policy }: PolicyVerdict): string =>
          `${policy.id} ${policy.slot === "enforced" ? 0 : 1}`;
        expect(together).toEqual(
          each.flat().toSorted((left, right) => (key(left) < key(right) ? -1 : 1)),
        );
        for (const { policy, verdict } of together) {
          expect(verdict === "indeterminate").toBe(policy.id === "conflicting" && stream);
        }
      }),
      { numRuns: fewOrMany(60, 300) },
    );
  });

  test("a promotion makes another set of the loaded contents, and the one in use stays unchanged", async () => {
    const before = assemblePolicySet(loaded, [...enforced(), ...candidates()]);
    const said = before.evaluate(streamed());
    const moved = candidates().map((identity) => ({ ...identity, slot: "enforced" as const }));
    const after = assemblePolicySet(loaded, moved);
    expect(after.id).not.toBe(before.id);
    const keeps = new Set(moved.map(({ digest }) => digest));
    loaded.retain(keeps);
    expect(apart.map(({ units }) => loaded.has(units[0]?.policy.digest ?? ""))).toEqual([
      false,
      false,
    ]);
    expect(before.evaluate(streamed())).toEqual(said);
    expect(() => assemblePolicySet(loaded, enforced())).toThrow(/revision 1 of \w+ is not loaded/);
    for (const module of apart) await loaded.add(module);
    expect(
      assemblePolicySet(loaded, [...enforced(), ...candidates()]).evaluate(streamed()),
    ).toEqual(said);
  });

  test("a content is in one slot, and under its own policy", () => {
    const [first] = enforced();
    if (first === undefined) throw new Error("nothing is enforced");
    expect(() => assemblePolicySet(loaded, [first, { ...first, slot: "candidate" }])).toThrow(
      "is in two slots",
    );
    expect(() => assemblePolicySet(loaded, [{ ...first, id: "in-europe" }])).toThrow(
      "is not loaded",
    );
  });

  test("only a content in a slot makes it read the time", async () => {
    const timed = await only([
      policySource("timed", gate, 'pass.gate if input.time.day == "weekday"'),
    ]);
    const modules = await LoadedModules.load([timed, ...apart], sampleData);
    expect(assemblePolicySet(modules, enforced()).readsTime).toBe(false);
    expect(assemblePolicySet(modules, placed(timed, "candidate", 1)).readsTime).toBe(true);
  });

  test("its id depends on contents and slots, but not on their order or revisions", () => {
    const slots = [...enforced(), ...candidates()];
    const { id } = assemblePolicySet(loaded, slots);
    expect(id).toMatch(/^[0-9a-f]{16}$/);
    expect(assemblePolicySet(loaded, slots.toReversed()).id).toBe(id);
    expect(
      assemblePolicySet(
        loaded,
        slots.map((slot) => ({ ...slot, revision: 9 })),
      ).id,
    ).toBe(id);
    const others = slots.map((_, index) => assemblePolicySet(loaded, slots.toSpliced(index, 1)).id);
    const swapped = slots.map(
      ({ slot, ...one }) =>
        ({ ...one, slot: slot === "enforced" ? "candidate" : "enforced" }) as const,
    );
    expect(new Set([id, assemblePolicySet(loaded, swapped).id, ...others]).size).toBe(
      slots.length + 2,
    );
    // Pinned: logs of other versions hold it.
    const pinned = [
      { id: "b", slot: "candidate", digest: "1" },
      { id: "b", slot: "enforced", digest: "2" },
      { id: "a", slot: "enforced", digest: "3" },
    ] as const;
    const list =
      '[{"digest":"3","id":"a","slot":"enforced"},{"digest":"2","id":"b","slot":"enforced"},{"digest":"1","id":"b","slot":"candidate"}]';
    expect(policySetId(pinned)).toBe(createHash("sha256").update(list).digest("hex").slice(0, 16));
  });
});

describe("hostile policies", { timeout: 120_000 }, () => {
  test("an evaluation has its own bound, and the next one has the whole bound again", async () => {
    const set = await createPolicySet(
      { modules: await modulesOf([...ordinary, voracious]) },
      [],
      sampleData,
    );
    for (let round = 0; round < 2; round += 1) {
      expect(summary(set.evaluate(streamed()))).toEqual([
        "always.gate pass - -",
        "in-europe.listed fail ELSEWHERE in-us",
        "streaming.gate pass - -",
        "voracious.gate indeterminate POLICY_TIMEOUT -",
      ]);
      expect(summary(set.evaluate(ordinaryInput()))).toContain("voracious.gate pass - -");
    }
  });

  /** Policies that the checks would not let through, compiled all the same. */
  async function unchecked(
    rules: string,
    effect: "gate" | "require_all",
  ): Promise<readonly string[]> {
    const reasons: readonly [string, ...string[]] = ["FIRST", "SECOND"];
    const policy = {
      contract: {
        contract: 1,
        id: "hostile",
        title: "Hostile",
        owners: ["group:tests"],
        operations: ["chat.completions"],
        constraints: [{ name: "c", effect, reasons }],
        obligations: [],
      },
      digest: "0".repeat(64),
      sources: [
        {
          package: "signalbox.policy.hostile",
          source: `package signalbox.policy.hostile\n\n${rules}\n`,
        },
      ],
      reasoned: ["c"],
      reads: [],
      relates: false,
      hours: null,
      stringUse: { strings: [], inspects: ["uncompiled"] },
      path: "policies/hostile.rego",
      locations: {},
    } as const;
    const set = await createPolicySet(
      { modules: await buildModules([policy], toolchain) },
      [],
      sampleData,
    );
    return summary(set.evaluate(ordinaryInput()));
  }

  test.for([
    ["gate", "pass.c := 1", "hostile.c indeterminate EVALUATION_INDETERMINATE -"],
    ["gate", "pass.c := null", "hostile.c indeterminate EVALUATION_INDETERMINATE -"],
    ["gate", "pass.other := true", "hostile.c fail FIRST -"],
    ["gate", "pass.c if false\n\nreason.c := input.request.route", "hostile.c fail FIRST -"],
    ["gate", 'pass.c if false\n\nreason.c := "SECOND"', "hostile.c fail SECOND -"],
    ["gate", 'pass.c contains "in-us"', "hostile.c indeterminate EVALUATION_INDETERMINATE -"],
    [
      "require_all",
      "pass.c := true",
      "hostile.c indeterminate EVALUATION_INDETERMINATE in-us+in-eu",
    ],
    [
      "require_all",
      "pass.other := true",
      "hostile.c indeterminate EVALUATION_INDETERMINATE in-us+in-eu",
    ],
    [
      "require_all",
      'pass.c contains x if some x in ["in-us", "in-eu", "nobody"]',
      "hostile.c indeterminate EVALUATION_INDETERMINATE in-us+in-eu",
    ],
    [
      "require_all",
      "pass.c contains x if some x in [7]",
      "hostile.c indeterminate EVALUATION_INDETERMINATE in-us+in-eu",
    ],
    [
      "require_all",
      'pass.c contains x.id if { some x in input.candidates; x.region == "moon" }',
      "hostile.c fail FIRST in-us+in-eu",
    ],
    [
      "require_all",
      'pass.c contains "in-eu"\n\nreason.c[x] := y if { some x in ["in-us"]; some y in ["FIRST", "SECOND"] }',
      "hostile.c indeterminate EVALUATION_INDETERMINATE in-us+in-eu",
    ],
    [
      "require_all",
      'pass.c contains "in-eu"\n\nreason.c["in-us"] := "free text"',
      "hostile.c fail FIRST in-us",
    ],
  ] as const)("a %s with %s has the verdict %s", async ([effect, rules, expected]) => {
    expect(await unchecked(rules, effect)).toEqual([expected]);
  });
});
