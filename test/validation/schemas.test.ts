import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  checkName,
  compile,
  Validator,
  type ValidatorOptions,
} from "../../src/validation/validator.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canon/json.ts";
import { BODY_CHECKS, codeOf, FILE_CHECKS } from "../../tools/build/checks.ts";
import { filesBelow, ROOT, shown, SOURCE, textOf } from "../support/imports.ts";

const bodies = Object.entries(BODY_CHECKS);
const others = Object.entries(FILE_CHECKS);

/** As strict as ajv can be where schemas say what they have to. */
function compileStrictly(
  { schema, options, annotations = [] }: ValidatorOptions,
  strictTuples: boolean,
): void {
  const ajv = new Ajv2020({
    ...options,
    strict: true,
    strictTypes: false,
    strictRequired: false,
    strictTuples,
  });
  ajv.addVocabulary([...annotations]);
  ajv.compile(schema);
}

describe("schemas that are compiled when they are first needed", () => {
  // A list in a body whose first item shows what the others are has more items than the one that is
  // looked at.
  it.each(bodies)("%s is a schema, and every keyword of it is known", (_, check) => {
    expect(() => compileStrictly(check, false)).not.toThrow();
    expect(() => compile(check)).not.toThrow();
  });

  it.each(others)("%s is a schema, and every keyword of it is known", (_, check) => {
    expect(() => compileStrictly(check, true)).not.toThrow();
    expect(() => compile(check)).not.toThrow();
  });

  it("are made in the listed files only", () => {
    const made = filesBelow(SOURCE).filter((path) => textOf(path).includes("new Validator"));
    expect(made.map(shown).toSorted()).toEqual([
      "src/compile/authored/shape.ts",
      "src/http/validate-body.ts",
      "src/policy/contract/contract.ts",
      "src/policy/kept-content.ts",
      "src/policy/toolchain/artefact.ts",
      "src/simulate/assertions/parse.ts",
    ]);
  });
});

describe("a check that is compiled ahead, for the package", () => {
  const load = createRequire(import.meta.url);
  const folder = join(ROOT, ".signalbox", "checks");
  beforeAll(() => {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /**
   * Values that a schema allows in part: made from its properties, one of them wrong or missing.
   */
  function* samples({ properties = {} }: { properties?: Record<string, JsonObject> }): Generator {
    const values = [
      7,
      -1,
      "text",
      "x".repeat(100_000),
      null,
      true,
      [],
      {},
      [{}],
      ["a", "a"],
      [{ role: "user", content: [{}] }],
    ];
    yield* values;
    const whole = Object.fromEntries(
      Object.entries(properties).map(([name, schema]) => [name, plausible(schema)]),
    );
    yield whole;
    yield { ...whole, unknown: 1 };
    for (const name of Object.keys(properties)) {
      for (const one of values) yield { ...whole, [name]: one };
      yield Object.fromEntries(Object.entries(whole).filter(([kept]) => kept !== name));
    }
  }

  /** A value for a schema, by its type alone. */
  function plausible({
    type,
    enum: allowed,
    const: only,
    items,
    properties,
  }: JsonObject): JsonValue {
    if (only !== undefined) return only;
    if (Array.isArray(allowed)) return allowed[0] ?? null;
    const [first] = [type].flat();
    if (first === "array") return isJsonObject(items) ? [plausible(items)] : [];
    if (first === "object") {
      const members = isJsonObject(properties) ? Object.entries(properties) : [];
      return Object.fromEntries(
        members.map(([name, member]) => [name, isJsonObject(member) ? plausible(member) : null]),
      );
    }
    return first === "string" ? "text" : first === "boolean" ? true : 1;
  }

  it.each([...bodies, ...others])(
    "%s has the same result for every value, with the same messages",
    (_, check) => {
      const path = join(folder, checkName(check));
      writeFileSync(path, codeOf(check));
      const ahead: ValidateFunction = load(path);
      const here = compile(check);
      let refused = 0;
      for (const value of samples(check.schema)) {
        expect(ahead(value)).toBe(here(value));
        expect(ahead.errors).toEqual(here.errors);
        if (ahead.errors !== null) refused += 1;
      }
      expect(refused).toBeGreaterThan(0);
    },
  );

  it("is named after all that it is compiled from", () => {
    const all = [...bodies, ...others].map(([, check]) => check);
    const distinct = new Set(all.map((check) => JSON.stringify(check)));
    expect(new Set(all.map(checkName)).size).toBe(distinct.size);
    const [first] = all;
    expect(first && checkName({ ...first, options: { allErrors: true } })).not.toBe(
      first && checkName(first),
    );
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

  it("refuses a schema with unknown keywords", () => {
    expect(() => new Validator(() => ({ schema: { typo: 1 } })).accepts(1)).toThrow(
      /unknown keyword/,
    );
    const annotated = new Validator(() => ({ schema: { typo: 1 }, annotations: ["typo"] }));
    expect(annotated.accepts(1)).toBe(true);
  });
});
