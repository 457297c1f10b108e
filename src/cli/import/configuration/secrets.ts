import type { Spot } from "../fields.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";
import { presetOf } from "../../../compile/presets.ts";

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,126}$/;

/** Placeholders for a key where a server of one's own needs none. */
const NO_KEY =
  /^(?:none|null|empty|dummy|fake|fake[-_]?(?:api[-_]?)?key|not[-_]?needed|anything|na|n\/a|no[-_]?key|placeholder|x+)$/i;

/** Whether a text that stands for a key says that there is none. */
export function meansNoKey(text: string): boolean {
  return text === "" || NO_KEY.test(text);
}

interface Variable {
  readonly name: string;
  readonly literals: Spot[];
}

/** The environment variables that routes.yaml refers to. Literal keys of the source are compared here, and written nowhere. */
export class Secrets {
  readonly #byKey = new Map<string, Variable>();
  readonly #reserved = new Set<string>();
  readonly #variables = new Map<string, Variable>();

  /** A variable that the source names somewhere: no literal key gets it. */
  reserve(name: string): void {
    this.#reserved.add(name);
  }

  /** A variable that the source names. */
  named(name: string): string | null {
    if (!VARIABLE.test(name)) return null;
    if (!this.#variables.has(name)) this.#variables.set(name, { name, literals: [] });
    return name;
  }

  /** The variable for a key that stands in the source; the same for an equal key. */
  literal(key: string, suggested: string, spot: Spot): string {
    const known = this.#byKey.get(key);
    const variable = known ?? { name: this.#free(suggested), literals: [] };
    variable.literals.push(spot);
    this.#byKey.set(key, variable);
    this.#variables.set(variable.name, variable);
    return variable.name;
  }

  #free(suggested: string): string {
    const base = suggested
      .toUpperCase()
      .replaceAll(/[^A-Z0-9_]+/g, "_")
      .replace(/^(?=\d)/, "_")
      .slice(0, 120);
    let free = base;
    for (let number = 2; this.#reserved.has(free) || this.#variables.has(free); number += 1) free = `${base}_${number}`;
    return free;
  }

  /** Sorted by name. */
  list(): readonly { readonly variable: string; readonly literals: readonly Spot[] }[] {
    return [...this.#variables.values()]
      .map(({ name, literals }) => ({ variable: name, literals }))
      .toSorted((left, right) => (left.variable < right.variable ? -1 : 1));
  }
}

/** The variable that a preset reads its key from; `null` where it has none. */
export function presetVariable(preset: string | null): string | null {
  const auth = preset === null ? undefined : presetOf(preset)?.provider["auth"];
  if (!isJsonObject(auth)) return null;
  for (const reference of [auth["bearer"], auth["secret"]]) {
    const name = isJsonObject(reference) ? reference["env"] : undefined;
    if (typeof name === "string") return name;
  }
  return null;
}

/**
 * `auth` of a row whose key is in a variable, in the form of the preset.
 *
 * @param variable `null`: the provider wants no key.
 * @returns nothing where the preset says the same.
 */
export function keyedAuth(preset: string | null, variable: string | null): { readonly auth?: JsonValue } {
  const own = preset === null ? undefined : presetOf(preset)?.provider["auth"];
  if (variable === null) return own === "none" ? {} : { auth: "none" };
  if (variable === presetVariable(preset)) return {};
  const header = isJsonObject(own) ? own["header"] : undefined;
  const prefix = isJsonObject(own) ? own["prefix"] : undefined;
  if (typeof header !== "string") return { auth: { bearer: { env: variable } } };
  const form: JsonObject = { header, secret: { env: variable }, ...(prefix === undefined ? {} : { prefix }) };
  return { auth: form };
}
