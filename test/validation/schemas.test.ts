import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { routesCheck } from "../../src/compile/authored/shape.ts";
import { DIALECTS } from "../../src/dialects/table.ts";
import { ENDPOINTS } from "../../src/http/contract/endpoints.ts";
import { bodyCheck } from "../../src/http/contract/validate.ts";
import { CONTRACT_CHECK } from "../../src/policy/contract/contract.ts";
import { DESCRIPTION_CHECK } from "../../src/policy/kept-content.ts";
import { MANIFEST_CHECK } from "../../src/policy/toolchain/artefact.ts";
import { ASSERTIONS_CHECK } from "../../src/simulate/assertions/file/parse.ts";
import { compile, Validator, type ValidatorOptions } from "../../src/validation/validator.ts";
import { filesBelow, shown, SOURCE, textOf } from "../support/imports.ts";

const bodies = ENDPOINTS.flatMap(({ id, body }) => (body === null ? [] : [[id, bodyCheck(body)] as const]));
const others: readonly (readonly [string, ValidatorOptions])[] = [
  ["routes.yaml", routesCheck(Object.keys(DIALECTS))],
  ["assertions", ASSERTIONS_CHECK],
  ["a policy's contract", CONTRACT_CHECK],
  ["a kept content", DESCRIPTION_CHECK],
  ["the toolchain's manifest", MANIFEST_CHECK],
];

/** As strict as ajv can be asked to be where schemas say what they have to. */
function compileStrictly({ schema, options, annotations = [] }: ValidatorOptions, strictTuples: boolean): void {
  const ajv = new Ajv2020({ ...options, strict: true, strictTypes: false, strictRequired: false, strictTuples });
  ajv.addVocabulary([...annotations]);
  ajv.compile(schema);
}

describe("schemas that are compiled when they are first needed", () => {
  // A list in a body whose first item tells what the others are has more items than the one that is looked at.
  it.each(bodies)("%s is a schema, and every word of it is known", (_, check) => {
    expect(() => compileStrictly(check, false)).not.toThrow();
    expect(() => compile(check)).not.toThrow();
  });

  it.each(others)("%s is a schema, and every word of it is known", (_, check) => {
    expect(() => compileStrictly(check, true)).not.toThrow();
    expect(() => compile(check)).not.toThrow();
  });

  it("are all named here", () => {
    const made = filesBelow(SOURCE).filter((path) => textOf(path).includes("new Validator"));
    expect(made.map(shown).toSorted()).toEqual([
      "src/compile/authored/shape.ts",
      "src/http/contract/validate.ts",
      "src/policy/contract/contract.ts",
      "src/policy/kept-content.ts",
      "src/policy/toolchain/artefact.ts",
      "src/simulate/assertions/file/parse.ts",
    ]);
  });
});

describe("a check", () => {
  const options = { allErrors: true } as const;
  const schema = { type: "object", required: ["one", "two"] } as const;

  it("is compiled with the first value, once", () => {
    let compiled = 0;
    const validator = new Validator(() => {
      compiled += 1;
      return { schema, options };
    });
    expect([compiled, validator.errors]).toEqual([0, []]);
    expect(validator.accepts({ one: 1, two: 2 })).toBe(true);
    expect(validator.accepts({})).toBe(false);
    expect(validator.errors.map(({ keyword }) => keyword)).toEqual(["required", "required"]);
    expect(compiled).toBe(1);
  });

  it("refuses a schema with words that nobody knows", () => {
    expect(() => new Validator(() => ({ schema: { typo: 1 } })).accepts(1)).toThrow(/unknown keyword/);
    const annotated = new Validator(() => ({ schema: { typo: 1 }, annotations: ["typo"] }));
    expect(annotated.accepts(1)).toBe(true);
  });
});
