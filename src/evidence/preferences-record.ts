import { isJsonObject, type JsonValue } from "../canon/json.ts";
import { SORT_KEYS, type MaximumPrice, type SortPreference } from "../canon/preferences.ts";
import { asWord, type Word } from "./word.ts";

/**
 * The preferences of a caller that decide anything (docs/dispatch.md#preferences-of-the-caller). Lists have names of the table; every other name is
 * {@link UNKNOWN_NAME}, because a caller may write anything there.
 */
export interface PreferencesRecord {
  readonly order?: readonly Word[];
  readonly only?: readonly Word[];
  readonly ignore?: readonly Word[];
  readonly region?: readonly Word[];
  readonly allow_fallbacks?: boolean;
  readonly sort?: SortPreference;
  readonly max_price?: MaximumPrice;
  readonly data_collection?: "allow" | "deny";
  readonly zdr?: boolean;
}

/** A name that the table does not have. No provider and no region can be called this: ids have no spaces. */
export const UNKNOWN_NAME = asWord("unknown name");

type Check = (value: JsonValue) => boolean;

const isNames: Check = (value) => Array.isArray(value) && value.every((name) => typeof name === "string");
const isFlag: Check = (value) => typeof value === "boolean";

const MEMBERS: { readonly [Name in keyof Required<PreferencesRecord>]: Check } = {
  order: isNames,
  only: isNames,
  ignore: isNames,
  region: isNames,
  allow_fallbacks: isFlag,
  sort: (value) =>
    isJsonObject(value) &&
    Object.keys(value).length === 2 &&
    SORT_KEYS.some((key) => key === value["by"]) &&
    (value["partition"] === "model" || value["partition"] === "none"),
  max_price: (value) =>
    isJsonObject(value) &&
    Object.entries(value).every(
      ([name, price]) => ["input", "output", "request"].includes(name) && typeof price === "number",
    ),
  data_collection: (value) => value === "allow" || value === "deny",
  zdr: isFlag,
};

/** Whether a stored value has the members above and no others: one that this version does not know would be left out of the decision. */
export function isPreferencesRecord(value: JsonValue | undefined): value is JsonValue & PreferencesRecord {
  const members: Readonly<Record<string, Check>> = MEMBERS;
  return (
    isJsonObject(value) &&
    Object.entries(value).every(
      ([name, member]) => Object.hasOwn(members, name) && member !== undefined && members[name]?.(member) === true,
    )
  );
}
