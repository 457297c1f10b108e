import { PLAIN, type Behaviour } from "./behaviour.ts";
import { SETTINGS, type Change } from "./vocabulary.ts";

/** Every setting with its form and meaning, in the order of the documentation. */
export const VOCABULARY: readonly { readonly form: string; readonly meaning: string }[] = [
  ...SETTINGS.values(),
];

export type ParsedBehaviour = { readonly behaviour: Behaviour } | { readonly problem: string };

/** Lists of settings read before: a benchmark sends the same one a hundred thousand times. */
const known = new Map<string, ParsedBehaviour>();
const KNOWN_LISTS = 1_000;

/**
 * Reads settings, each `name` or `name=value`.
 *
 * @returns the behaviour, or one sentence that names the setting that is unknown, wrong, or
 * contradicts another.
 */
export function parseBehaviour(settings: readonly string[]): ParsedBehaviour {
  if (settings.length === 0) return { behaviour: PLAIN };
  const list = settings.join(";");
  const remembered = known.get(list);
  if (remembered !== undefined) return remembered;
  const parsed = parseSettings(settings);
  if (known.size >= KNOWN_LISTS) known.clear();
  known.set(list, parsed);
  return parsed;
}

function parseSettings(settings: readonly string[]): ParsedBehaviour {
  let behaviour = PLAIN;
  const setBy = new Map<string, string>();
  for (const written of settings) {
    const change = readSetting(written);
    if (typeof change === "string") return { problem: change };
    for (const member of Object.keys(change)) {
      const earlier = setBy.get(member);
      if (earlier !== undefined)
        return {
          problem: `mock: "${quote(written)}" contradicts or repeats "${quote(earlier)}"; write one of them`,
        };
      setBy.set(member, written);
    }
    behaviour = { ...behaviour, ...change };
  }
  const problem = problemTogether(behaviour);
  return problem === null ? { behaviour } : { problem };
}

/** One sentence about settings that contradict each other; `null` where none do. */
function problemTogether(behaviour: Behaviour): string | null {
  const { status, poison, duplicateIndex, indexOutOfRange, noIndex } = behaviour;
  if (behaviour.retryAfter !== null && status === null && poison === null)
    return 'mock: "retry-after" goes with a status; add for example status=429';
  if (status !== null && poison !== null)
    return 'mock: a status is the answer to every request, so "poison" would never be seen; write poison=N alone';
  if (behaviour.unicode && behaviour.size !== null)
    return 'mock: "size" counts bytes of plain text; with "unicode" write chunks=N';
  if (Number(duplicateIndex) + Number(indexOutOfRange) + Number(noIndex) > 1)
    return 'mock: "duplicate-index", "index-out-of-range" and "no-index" hide each other; write one of them';
  return null;
}

/**
 * The settings in a message of the request, which reach the provider through a router too:
 * `[x-mock: 503]`, or `[x-mock gpt-5-mini: 503]` for the endpoints of one model alone.
 */
export function messageSettings(text: string, model: string): readonly string[] {
  return [...text.matchAll(/\[x-mock(?: ([\w.:-]+))?: ([^\]"\\]+)\]/g)]
    .filter(([, only]) => only === undefined || only === model)
    .flatMap(([, , settings = ""]) => headerSettings(settings));
}

/** The settings of an `x-mock` header: separated by semicolons, spaces around them ignored. */
export function headerSettings(header: string): readonly string[] {
  return header
    .split(";")
    .map((setting) => setting.trim())
    .filter((setting) => setting !== "");
}

/** A model's name without the settings after it, and those settings. */
export function modelSettings(model: string): {
  readonly base: string;
  readonly settings: readonly string[];
} {
  const [base = "", ...settings] = model.split("+");
  return { base, settings };
}

function readSetting(written: string): Change | string {
  const equals = written.indexOf("=");
  const bare = /^[3-5]\d\d$/.test(written);
  const name = bare ? "status" : equals === -1 ? written : written.slice(0, equals);
  const value = bare ? written : equals === -1 ? null : written.slice(equals + 1);
  const setting = SETTINGS.get(name);
  if (setting === undefined)
    return `mock: unknown setting "${quote(name)}"; the settings are ${[...SETTINGS.keys()].join(", ")}`;
  const change = setting.read(value);
  if (change !== null) return change;
  const detail = setting.detail === undefined ? "" : `, ${setting.detail}`;
  return `mock: "${quote(written)}" is not understood; write ${setting.form}${detail}`;
}

/** How the member of a behaviour is written: `toolCalls` is the setting `tool-calls`. */
export function settingName(member: keyof Behaviour): string {
  return member.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** Settings come from the request; a long one would fill the error. */
function quote(written: string): string {
  return written.length > 40 ? `${written.slice(0, 40)}…` : written;
}
