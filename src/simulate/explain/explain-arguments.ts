import { canonicalJson } from "../../canon/json.ts";
import type { ProviderPreferences } from "../../canon/preferences.ts";
import { ALWAYS_USED } from "../../canon/request.ts";
import { perScalar } from "../request-scalars.ts";
import type { SampleRequest } from "../sample-request.ts";

/** The environment of a key without one, in `signalbox explain` as in `signalbox keys create`. */
export const DEFAULT_ENVIRONMENT = "production";

/** Which files a command line is about, seen from the folder in which it is run. */
interface ExplainedFiles {
  /** The ref or folder that decides which contents are enforced; `null`: the files alone decide. */
  readonly base: string | null;
  /** The ref or folder that has the files; `null`: the current folder. */
  readonly head: string | null;
  /** `null`: `routes.yaml`. */
  readonly config: string | null;
  /** Whose overlay is merged over it; `null` for none. */
  readonly environment: string | null;
}

const FILES_HERE: ExplainedFiles = { base: null, head: null, config: null, environment: null };

/**
 * The command line that explains a sample, without the program's name: `explain --workspace demo --operation …`. Flags where they can express it,
 * otherwise `--point` with its JSON; `signalbox explain` reads the same sample from either.
 */
export function explainArguments(sample: SampleRequest, files: ExplainedFiles = FILES_HERE): readonly string[] {
  const following = (["config", "environment", "base", "head"] as const).flatMap((name) => {
    const value = files[name];
    return value === null ? [] : flag(name, value);
  });
  if (!isSayable(sample)) return ["explain", ...flag("point", canonicalJson(sample)), ...following];
  const { key, preferences, time } = sample;
  return [
    "explain",
    ...flag("workspace", sample.workspace),
    ...flag("operation", sample.operation),
    ...(sample.model === "" ? [] : flag("model", sample.model)),
    ...list("needs", sample.needs),
    ...list("features", sample.features),
    ...perScalar((member, { name, plain }) => {
      const value = sample[member];
      if (value === plain) return [];
      const spelled = name.replaceAll("_", "-");
      return typeof value === "boolean" ? [`--${spelled}`] : flag(spelled, value);
    }).flat(),
    ...(sample.dimensions === null ? [] : flag("dimensions", String(sample.dimensions))),
    ...list("signature-families", sample.signatureFamilies),
    ...(key.environment === DEFAULT_ENVIRONMENT ? [] : flag("key-environment", key.environment)),
    ...(key.workload === "" ? [] : flag("workload", key.workload)),
    ...(key.owner === undefined ? [] : flag("owner", key.owner)),
    ...list("labels", key.labels),
    ...(preferences === null ? [] : preferenceFlags(preferences)),
    ...(sample.budget === undefined ? [] : flag("budget", sample.budget)),
    ...flag("time", `${time.day}/${time.hour}`),
    ...following,
  ];
}

/** Whether flags can express it: lists are separated by commas, and `--model` is left out where the workspace chooses the route. */
function isSayable({
  workspace,
  model,
  operation,
  key,
  signatureFamilies,
  needs,
  features,
  dimensions,
}: SampleRequest): boolean {
  return (
    workspace !== "" &&
    key.environment !== "" &&
    (model !== "" || operation === "moderations") &&
    (dimensions === null || isCount(dimensions)) &&
    // The command adds what every request of the operation uses.
    (ALWAYS_USED[operation] ?? []).every((feature) => features.includes(feature)) &&
    [needs, features, key.labels, signatureFamilies].every((items) => items.length === 0 || isList(items))
  );
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 1 && value <= 1_000_000;
}

function isList(items: readonly string[]): boolean {
  return items.length > 0 && items.every((item) => item !== "" && item.trim() === item && !item.includes(","));
}

/** Every preference as a flag of its own, or all of them as the JSON of a request's `provider`. */
function preferenceFlags(preferences: ProviderPreferences): readonly string[] {
  const { only, order, ignore, region, data_collection, zdr, allow_fallbacks, ...others } = preferences;
  const lists = { only, order, ignore, region };
  const hasFlags =
    Object.values(others).every((value) => value === undefined) &&
    Object.values(lists).every((items) => items === undefined || isList(items)) &&
    zdr !== false &&
    allow_fallbacks !== true;
  if (!hasFlags) return flag("preferences", canonicalJson(preferences));
  return [
    ...Object.entries(lists).flatMap(([name, items]) => list(name, items ?? [])),
    ...(data_collection === undefined ? [] : flag("data-collection", data_collection)),
    ...(zdr === true ? ["--zdr"] : []),
    ...(allow_fallbacks === false ? ["--no-fallbacks"] : []),
  ];
}

function list(name: string, items: readonly string[]): readonly string[] {
  return items.length === 0 ? [] : flag(name, items.join());
}

/** A value that looks like a flag must be joined to its flag. */
function flag(name: string, value: string): readonly string[] {
  return value === "" || value.startsWith("-") ? [`--${name}=${value}`] : [`--${name}`, value];
}

/** Arguments that no shell expands. A leading equals sign means a path to zsh, a tilde a home. */
const PLAIN = /^[\w@%+:,./-][\w@%+:,./=-]*$/;
/** What moves a cursor, hides or turns text round: it must not get to a terminal, nor into a clipboard unseen. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

/** An argument of a command line, quoted for POSIX shells; invisible characters are written in octal digits. */
export function shellArgument(text: string): string {
  if (PLAIN.test(text)) return text;
  if (!UNSEEN.test(text)) return `'${text.replaceAll("'", "'\\''")}'`;
  const written = Array.from(text, (character) => {
    if (character === "'" || character === "\\") return `\\${character}`;
    if (!UNSEEN.test(character)) return character;
    return Array.from(new TextEncoder().encode(character), (byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
  });
  return `$'${written.join("")}'`;
}

/** Arguments of a command line, ready to be pasted. */
export function shellLine(args: readonly string[]): string {
  return args.map(shellArgument).join(" ");
}

/** The command line that explains an example, ready to be pasted. */
export function explainCommand(args: readonly string[]): string {
  return shellLine(["signalbox", ...args]);
}
