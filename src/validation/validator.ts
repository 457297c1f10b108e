import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type * as AjvModule from "ajv/dist/2020.js";
import type { ErrorObject, Options, ValidateFunction } from "ajv/dist/2020.js";

/** The source of a check, and the message for a failure. */
export interface ValidatorOptions {
  readonly schema: Readonly<Record<string, unknown>>;
  readonly options?: Pick<Options, "allErrors" | "verbose" | "discriminator">;
  /** Keywords of ours that check nothing. */
  readonly annotations?: readonly string[];
}

/**
 * A check of values against a schema of this program. It is made on its first use: all together
 * took a third of a start, and most servers use few of them. The package has them compiled, and
 * does not load ajv for them.
 */
export class Validator<Value> {
  readonly #given: () => ValidatorOptions;
  #made: ValidateFunction<Value> | null = null;

  /** @param given called once, with the first value. */
  constructor(given: () => ValidatorOptions) {
    this.#given = given;
  }

  /** Whether the value fits the schema. */
  accepts(value: unknown): value is Value {
    return (this.#made ??= make<Value>(this.#given()))(value);
  }

  /** What was wrong with the value that was looked at last, in ajv's text. */
  get errors(): readonly ErrorObject[] {
    return this.#made?.errors ?? [];
  }
}

const load = createRequire(import.meta.url);

/**
 * Checks that `npm run build` has compiled, by {@link checkName}; the sources have no such folder.
 */
const COMPILED = new URL("./checks/", import.meta.url);

function make<Value>(given: ValidatorOptions): ValidateFunction<Value> {
  const compiled = fileURLToPath(new URL(checkName(given), COMPILED));
  return existsSync(compiled) ? load(compiled) : compile<Value>(given);
}

/**
 * The file of a check: named after all that it is compiled from, so that none is taken for another.
 */
export function checkName(given: ValidatorOptions): string {
  return `${createHash("sha256").update(JSON.stringify(given)).digest("hex").slice(0, 32)}.cjs`;
}

/** @throws {Error} for a schema with keywords that are neither the standard's nor annotations. */
export function compile<Value>(given: ValidatorOptions): ValidateFunction<Value> {
  return compilerOf(given).compile<Value>(given.schema);
}

/** What compiles a check. @param code how its code is written, where that is wanted. */
export function compilerOf(
  { options = {}, annotations = [] }: ValidatorOptions,
  code?: Options["code"],
) {
  const { Ajv2020 }: typeof AjvModule = load("ajv/dist/2020.js");
  const lenient = { strictTypes: false, strictTuples: false, strictRequired: false };
  // test/validation holds our schemas to the meta-schema: doing it here would compile the
  // meta-schema first, for each of them anew.
  const ajv = new Ajv2020({
    ...lenient,
    ...options,
    ...(code && { code }),
    meta: false,
    validateSchema: false,
  });
  ajv.addVocabulary([...annotations]);
  return ajv;
}
