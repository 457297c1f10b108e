import { hash } from "node:crypto";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type * as AjvModule from "ajv/dist/2020.js";
import type { ErrorObject, Options, ValidateFunction } from "ajv/dist/2020.js";

/** Schema and options of a check. */
export interface ValidatorOptions {
  readonly schema: Readonly<Record<string, unknown>>;
  readonly options?: Pick<Options, "allErrors" | "verbose" | "discriminator">;
  /** Our own keywords without checks. */
  readonly annotations?: readonly string[];
}

/**
 * A check of values against a schema of this program. It is compiled on its first use: all together
 * took a third of a start, and most servers use few of them. The package contains them compiled,
 * without ajv.
 */
export class Validator<Value> {
  readonly #source: () => ValidatorOptions;
  #check: ValidateFunction<Value> | null = null;

  /** @param source called once, with the first value. */
  constructor(source: () => ValidatorOptions) {
    this.#source = source;
  }

  /** Whether the value fits the schema. */
  accepts(value: unknown): value is Value {
    return (this.#check ??= load<Value>(this.#source()))(value);
  }

  /** Errors of the last checked value, in ajv's text. */
  get errors(): readonly ErrorObject[] {
    return this.#check?.errors ?? [];
  }
}

const requireModule = createRequire(import.meta.url);

/**
 * Checks that `npm run build` has compiled, or a test run beside the sources, by {@link checkName}.
 */
const COMPILED = new URL("./checks/", import.meta.url);

function load<Value>(source: ValidatorOptions): ValidateFunction<Value> {
  const compiled = fileURLToPath(new URL(checkName(source), COMPILED));
  return existsSync(compiled) ? requireModule(compiled) : compile<Value>(source);
}

/**
 * File name of a check: a digest of its source, so that a changed schema is not checked by an old
 * file.
 */
export function checkName(source: ValidatorOptions): string {
  return `${hash("sha256", JSON.stringify(source), "hex").slice(0, 32)}.cjs`;
}

/** @throws {Error} for a schema with keywords that are neither the standard's nor annotations. */
export function compile<Value>(source: ValidatorOptions): ValidateFunction<Value> {
  return compilerOf(source).compile<Value>(source.schema);
}

/** The compiler of a check. @param code form of its code, to write it to a file. */
export function compilerOf(
  { options = {}, annotations = [] }: ValidatorOptions,
  code?: Options["code"],
) {
  const { Ajv2020 }: typeof AjvModule = requireModule("ajv/dist/2020.js");
  const lenient = { strictTypes: false, strictTuples: false, strictRequired: false };
  // test/validation holds our schemas to the meta-schema: doing it here would compile the
  // meta-schema first, again for each of them.
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
