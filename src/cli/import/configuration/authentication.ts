import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";
import { presetOf } from "../../../compile/presets/presets.ts";

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
