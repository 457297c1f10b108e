import { describe, expect, test } from "vitest";
import type { ConstraintEffect, PolicyContract } from "../../src/canon/policy.ts";
import { deriveVerdicts } from "../../src/policy/loaded-modules.ts";

const policy = { id: "p", revision: 1, digest: "d", slot: "enforced" } as const;

function contract(effect: ConstraintEffect): PolicyContract {
  return {
    contract: 1,
    id: "p",
    title: "P",
    owners: ["group:tests"],
    operations: ["messages"],
    constraints: [{ name: "c", effect, reasons: ["FIRST", "SECOND"] }],
    obligations: [],
  };
}

function derive(effect: ConstraintEffect, document: unknown): string {
  const [verdict, ...more] = deriveVerdicts(policy, contract(effect), document, ["a", "b"]);
  expect(more).toEqual([]);
  return [verdict?.verdict, verdict?.reason ?? "-", verdict?.failing.join("+") || "-"].join(" ");
}

const value = (pass: unknown, ...reasons: readonly unknown[]) => ({
  pass: { c: [pass] },
  reason: { c: reasons },
});

const UNDEFINED = { pass: { c: [] }, reason: {} };

describe("a gate", () => {
  test.for([
    ["true", value(true), "pass - -"],
    ["false", value(false), "fail FIRST -"],
    ["undefined", UNDEFINED, "fail FIRST -"],
    ["a number", value(1), "indeterminate EVALUATION_INDETERMINATE -"],
    ["text", value("true"), "indeterminate EVALUATION_INDETERMINATE -"],
    ["null", value(null), "indeterminate EVALUATION_INDETERMINATE -"],
    ["an empty set", value([]), "indeterminate EVALUATION_INDETERMINATE -"],
    ["an object", value({}), "indeterminate EVALUATION_INDETERMINATE -"],
    ["a declared reason", value(false, "SECOND"), "fail SECOND -"],
    ["an undeclared reason", value(false, "THIRD"), "fail FIRST -"],
    ["a reason that is text for a client", value(false, "your prompt was: …"), "fail FIRST -"],
    ["a reason for each candidate", value(false, { a: "SECOND" }), "fail FIRST -"],
    ["a reason of the wrong type", value(false, 2), "fail FIRST -"],
    ["a reason although it passes", value(true, "SECOND"), "pass - -"],
  ] as const)("that is %s (%j) has the verdict %s", ([, document, expected]) => {
    expect(derive("gate", document)).toBe(expected);
  });
});

describe.each(["require_all", "filter"] as const)("%s", (effect) => {
  test.for([
    ["all", value(["b", "a"]), "pass - -"],
    ["one twice", value(["b", "b", "a"]), "pass - -"],
    ["some", value(["b"]), "fail FIRST a"],
    ["none", value([]), "fail FIRST a+b"],
    ["no set at all", UNDEFINED, "indeterminate EVALUATION_INDETERMINATE a+b"],
    ["an unknown candidate", value(["a", "b", "c"]), "indeterminate EVALUATION_INDETERMINATE a+b"],
    ["something that is no id", value(["a", 1]), "indeterminate EVALUATION_INDETERMINATE a+b"],
    ["true", value(true), "indeterminate EVALUATION_INDETERMINATE a+b"],
    ["text", value("ab"), "indeterminate EVALUATION_INDETERMINATE a+b"],
    ["an object of ids", value({ a: true, b: true }), "indeterminate EVALUATION_INDETERMINATE a+b"],
    ["some, with a reason", value(["a"], "SECOND"), "fail SECOND b"],
    ["some, with a reason for it", value(["a"], { b: "SECOND" }), "fail SECOND b"],
    ["some, with a reason for another", value(["a"], { a: "SECOND" }), "fail FIRST b"],
    ["none, with a reason for the second", value([], { b: "SECOND" }), "fail SECOND a+b"],
    ["some, with an undeclared reason for it", value(["a"], { b: "THIRD" }), "fail FIRST b"],
    ["some, with a list as reason", value(["a"], ["SECOND"]), "fail FIRST b"],
  ] as const)("of %s (%j) has the verdict %s", ([, document, expected]) => {
    expect(derive(effect, document)).toBe(expected);
  });

  test("passes where there are no candidates", () => {
    expect(deriveVerdicts(policy, contract(effect), value([]), [])[0]?.verdict).toBe("pass");
  });
});

describe("a policy that could not be evaluated", () => {
  test.for([
    undefined,
    null,
    7,
    "text",
    [],
    {},
    { pass: {} },
    { pass: null, reason: {} },
    { pass: {}, reason: 1 },
  ])("is indeterminate for the document %o", (document) => {
    expect(derive("gate", document)).toBe("indeterminate EVALUATION_INDETERMINATE -");
    expect(derive("filter", document)).toBe("indeterminate EVALUATION_INDETERMINATE a+b");
  });

  test("names inherited from Object.prototype are no constraints and no reasons", () => {
    const named = {
      ...contract("gate"),
      constraints: [{ name: "constructor", effect: "gate", reasons: ["FIRST"] }],
    } as const;
    const [verdict] = deriveVerdicts(policy, named, { pass: {}, reason: {} }, []);
    expect([verdict?.verdict, verdict?.reason]).toEqual(["fail", "FIRST"]);
    const [failing] = deriveVerdicts(
      policy,
      contract("filter"),
      { pass: { c: [[]] }, reason: { c: [{}] } },
      ["constructor"],
    );
    expect(failing?.reason).toBe("FIRST");
  });
});
