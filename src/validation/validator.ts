import { createRequire } from "node:module";
import type * as AjvModule from "ajv/dist/2020.js";
import type { ErrorObject, Options, ValidateFunction } from "ajv/dist/2020.js";

/** What a check is compiled from, and what it tells of a failure. */
export interface ValidatorOptions {
  readonly schema: Readonly<Record<string, unknown>>;
  readonly options?: Pick<Options, "allErrors" | "verbose" | "discriminator">;
  /** Keywords of ours that check nothing. */
  readonly annotations?: readonly string[];
}

/**
 * A check of values against a schema of this program. It is compiled when it is first asked, and ajv is loaded with the first of them: together a third of
 * a start would go to checks of which most servers never ask.
 */
export class Validator<Value> {
  readonly #given: () => ValidatorOptions;
  #compiled: ValidateFunction<Value> | null = null;

  /** @param given called once, with the first value. */
  constructor(given: () => ValidatorOptions) {
    this.#given = given;
  }

  /** Whether the value fits the schema. */
  accepts(value: unknown): value is Value {
    return (this.#compiled ??= compile<Value>(this.#given()))(value);
  }

  /** What was wrong with the value that was looked at last, in ajv's words. */
  get errors(): readonly ErrorObject[] {
    return this.#compiled?.errors ?? [];
  }
}

const load = createRequire(import.meta.url);

/** @throws {Error} for a schema with keywords that are neither the standard's nor annotations. */
export function compile<Value>({ schema, options = {}, annotations = [] }: ValidatorOptions): ValidateFunction<Value> {
  const { Ajv2020 }: typeof AjvModule = load("ajv/dist/2020.js");
  const lenient = { strictTypes: false, strictTuples: false, strictRequired: false };
  // test/validation holds our schemas to the meta-schema: doing it here would compile the meta-schema first, for each of them anew.
  const ajv = new Ajv2020({ ...lenient, ...options, meta: false, validateSchema: false });
  ajv.addVocabulary([...annotations]);
  return ajv.compile<Value>(schema);
}
