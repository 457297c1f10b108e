import { createHash } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { buildModules, compilePolicies } from "../../src/policy/compile-policies.ts";
import type { CompiledPolicy, PolicyModule } from "../../src/policy/compiled.ts";
import {
  KeptContentError,
  readStoredContent,
  recompileContent,
  storedContent,
} from "../../src/policy/kept-content.ts";
import { createPolicySet } from "../../src/policy/policy-set.ts";
import type { StoredContent } from "../../src/canon/policy.ts";
import { ordinaryInput, policySource, sampleData, toolchain } from "./samples.ts";

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** A library, a time, a reason, an obligation: every member of a description says something. */
const sources = [
  {
    path: "policies/lib/office.rego",
    text: 'package signalbox.lib.office\n\nopen if input.time.day == "weekday"\n',
  },
  policySource(
    "kept",
    { listed: "{effect: require_all, reasons: [NOT_LISTED, CLOSED]}" },
    [
      "import data.signalbox.lib.office",
      "",
      "pass.listed contains candidate.id if {",
      "\tsome candidate in input.candidates",
      '\tcandidate.region != "us-east"',
      "}",
      "",
      'reason.listed := "CLOSED" if not office.open',
      "",
      "waive.cap if input.request.stream",
    ].join("\n"),
    "[chat.completions, messages]",
    { cap: "{kind: max_output_tokens, value: 500}" },
  ),
];

async function compiled(): Promise<{
  readonly policy: CompiledPolicy;
  readonly module: PolicyModule;
}> {
  const { policies, modules, diagnostics } = await compilePolicies(sources, {
    cache: null,
    toolchain,
  });
  expect(diagnostics).toEqual([]);
  const [policy] = policies;
  const [module] = modules;
  if (policy === undefined || module === undefined) throw new Error("the policy does not compile");
  return { policy, module };
}

describe("a kept content", { timeout: 120_000 }, () => {
  let policy: CompiledPolicy;
  let stored: StoredContent;
  beforeAll(async () => {
    const made = await compiled();
    policy = made.policy;
    stored = storedContent(policy, made.module, "b");
  }, 120_000);

  const read = (changed: Partial<StoredContent>): unknown => {
    const content = { ...stored, ...changed };
    return readStoredContent(content, sha256(content.module));
  };

  test("is restored unchanged, with the same answers, for every operation", async () => {
    const kept = readStoredContent(stored, sha256(stored.module));
    expect(kept.policy).toEqual({ ...policy, path: "kept.rego", locations: {} });
    expect(kept.moduleSha256).toBe(sha256(stored.module));
    const { modules } = await compilePolicies(sources, { cache: null, toolchain });
    const before = await createPolicySet({ modules }, [], sampleData);
    const recompiled = await recompileContent(kept, toolchain);
    expect(recompiled.policy).toEqual(kept.policy);
    expect(recompiled.agreement).toBe("same");
    const after = await createPolicySet({ modules: [recompiled.module] }, [], sampleData);
    expect(after.readsTime).toBe(true);
    expect(after.id).toBe(before.id);
    for (const operation of ["chat.completions", "messages", "rerank"] as const) {
      for (const stream of [false, true]) {
        const input = ordinaryInput({ operation, request: { ...ordinaryInput().request, stream } });
        expect(after.evaluate(input)).toEqual(before.evaluate(input));
        expect(before.evaluate(input).verdicts.length).toBe(operation === "rerank" ? 0 : 1);
      }
    }
  });

  test("is the same bytes in every process that compiles it", async () => {
    const again = await compiled();
    expect(storedContent(again.policy, again.module, "b")).toEqual(stored);
  });

  test("is stored only with its own module", async () => {
    const other = { ...policy, digest: "0".repeat(64) };
    const [both] = await buildModules([policy, other], toolchain);
    const [wrong] = await buildModules([other], toolchain);
    expect(() => storedContent(policy, both as PolicyModule, "b")).toThrow(
      "module of other contents",
    );
    expect(() => storedContent(policy, wrong as PolicyModule, "b")).toThrow(
      "module of other contents",
    );
  });

  test("is refused where a byte of the module is another, or the log names none", () => {
    const module = Uint8Array.from(stored.module);
    module[1000] = (module[1000] ?? 0) ^ 1;
    for (const named of [sha256(stored.module), null]) {
      expect(() => readStoredContent({ ...stored, module }, named)).toThrow(
        "its module differs from the module in",
      );
    }
  });

  type Made = Record<string, unknown>;
  const described = (change: (description: Made) => void): string => {
    const description = JSON.parse(stored.description) as Made;
    change(description);
    return JSON.stringify(description);
  };

  test.for([
    ["other paths that it reads", (made: Made): void => void (made.reads = [])],
    [
      "another entrypoint",
      (made: Made): void => void (made.entrypoints = { unit: "x", pass: "y" }),
    ],
    ["one more member", (made: Made): void => void (made.more = 1)],
  ] as const)("is refused with %s than its module says", ([, change]) => {
    expect(() => read({ description: described(change) })).toThrow(
      "differs from the description in its module",
    );
  });

  test.for([
    ["no JSON", (): string => "{"],
    ["no object", (): string => "[]"],
    ["null", (): string => "null"],
    ["an unknown version", (): string => described((made) => void (made.version = 2))],
    ["no build", (): string => described((made) => void delete made.build)],
    ["no sources", (): string => described((made) => void delete made.sources)],
    ["a contract that is text", (): string => described((made) => void (made.contract = "kept"))],
    ["reads that are no texts", (): string => described((made) => void (made.reads = [1]))],
  ] as const)("is refused with a description that is %s, without quoting it", ([, description]) => {
    const attempt = (): unknown => read({ description: description() });
    expect(attempt).toThrow(KeptContentError);
    expect(attempt).toThrow("its description is damaged, or was written by a newer Signalbox");
  });

  test("is refused where contract and sources do not match its digest, even with right hashes", async () => {
    const { module } = await compiled();
    const [unit] = module.units;
    if (unit === undefined) throw new Error("no unit");
    const lies: readonly ((policy: CompiledPolicy) => CompiledPolicy)[] = [
      (one) => ({ ...one, contract: { ...one.contract, operations: ["messages"] } }),
      (one) => ({ ...one, contract: { ...one.contract, id: "other" } }),
      (one) => ({ ...one, sources: one.sources.slice(1) }),
      (one) => ({ ...one, contract: { ...one.contract, obligations: [] } }),
    ];
    for (const lie of lies) {
      const made = storedContent(lie(policy), module, "b");
      const attempt = (): unknown =>
        readStoredContent({ ...made, policy: "kept" }, sha256(made.module));
      expect(attempt).toThrow("its contract and sources do not have its digest");
    }
    const renamed = { ...stored, policy: "other" };
    expect(() => readStoredContent(renamed, sha256(renamed.module))).toThrow(
      "its contract and sources do not have its digest",
    );
  });
});
