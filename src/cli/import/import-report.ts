import { describeSafely, looksLikeSecret } from "../../compile/authored/literal-secrets.ts";
import type { ConfigNode, Path, Position } from "../../compile/authored/tree.ts";
import type { Fields, Spot } from "./fields.ts";

/** What became of a value of the source. */
export const OUTCOMES = ["carried", "changed", "left_out", "decide"] as const;
export type Outcome = (typeof OUTCOMES)[number];

export function isOutcome(value: string): value is Outcome {
  return OUTCOMES.some((outcome) => outcome === value);
}

/** What becomes of keys that need no reading: outcome and sentence, by name. */
export type KnownKeys = Readonly<Record<string, readonly [Outcome, string]>>;

const UNKNOWN: readonly [Outcome, string] = [
  "decide",
  "this key is not known to the import: look up what it does, and whether anything has to replace it",
];

export interface ReportEntry {
  readonly outcome: Outcome;
  /** Where in the source: `model_list[0].litellm_params.rpm`. */
  readonly source: string;
  readonly file: string;
  readonly line: number;
  /** What it became, or why it did not; never a value of the source that could be a secret. */
  readonly text: string;
}

/** A secret that routes.yaml refers to. */
export interface SecretEntry {
  readonly variable: string;
  /** Lines of the source that hold the secret itself; none where it names a variable. */
  readonly literals: readonly { readonly file: string; readonly line: number }[];
}

/** For a value that no code above reports: nothing of the source is left out of the report. */
const REST = "not carried over: the import makes nothing of this value";

function valueKey(path: Path, { file, line, column }: Position): string {
  return JSON.stringify([file, line, column, path.at(-1)]);
}

/** Collects what became of each value. */
export class ImportReport {
  readonly #file: string;
  readonly #entries: ReportEntry[] = [];
  readonly #seen = new Set<string>();
  /** Values that have a line, by position and name: a value of a merged mapping or a stored credential has several paths. */
  readonly #covered = new Map<string, "whole" | "itself">();

  /** @param file of values whose position names none. */
  constructor(file: string) {
    this.#file = file;
  }

  /** @param reach `whole`: the line is also about all members of a mapping, as `left_out` always is. */
  add(outcome: Outcome, { path, at }: Spot, text: string, reach: "whole" | "itself" = "itself"): void {
    const value = valueKey(path, at);
    if (outcome === "left_out" || reach === "whole") this.#covered.set(value, "whole");
    else if (!this.#covered.has(value)) this.#covered.set(value, "itself");
    const entry = { outcome, source: describeSafely(path), file: at.file ?? this.#file, line: at.line, text };
    // An alias shows one value many times.
    const key = JSON.stringify(entry);
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    this.#entries.push(entry);
  }

  /** Reports those of these members that are there, and marks them as read. */
  addMembers(outcome: Outcome, fields: Fields | null, names: readonly string[], text: string): void {
    for (const item of names.flatMap((name) => fields?.item(name) ?? [])) this.add(outcome, item, text, "whole");
  }

  /**
   * Reports every member of a mapping that has not been read. A key that is in no table is reported as unknown, so that it can be looked up; a value
   * is never repeated.
   */
  addUnread(fields: Fields | null, known: KnownKeys): void {
    for (const [name, item] of fields?.unread() ?? []) {
      const row = Object.hasOwn(known, name) ? known[name] : undefined;
      const [outcome, text] = row ?? UNKNOWN;
      this.add(outcome, item, text, "whole");
      if (row === undefined && item.node.kind === "scalar" && looksLikeSecret(String(item.node.value)))
        this.add("decide", item, "this value looks like a credential: put it into the environment");
    }
  }

  /**
   * Reports each value of the source that has no line yet. A line about a list is about its items.
   *
   * @param path of the tree in the source.
   */
  addRest(tree: ConfigNode, path: Path = [], keyAt: Position = tree.at): void {
    const covered = this.#covered.get(valueKey(path, keyAt));
    if (covered === "whole") return;
    if (tree.kind === "map") {
      for (const [name, { node, keyAt: at }] of tree.members) this.addRest(node, [...path, name], at);
    } else if (tree.kind === "list") {
      const isNamed = covered !== undefined && path.length > 0;
      for (const [index, node] of tree.items.entries())
        if (!isNamed || node.kind !== "scalar") this.addRest(node, [...path, index]);
    } else if (tree.value !== null && covered === undefined) this.add("decide", { path, at: keyAt }, REST);
  }

  /** In the order of the source. */
  list(): readonly ReportEntry[] {
    return this.#entries.toSorted(
      (left, right) =>
        OUTCOMES.indexOf(left.outcome) - OUTCOMES.indexOf(right.outcome) ||
        Number(left.file !== this.#file) - Number(right.file !== this.#file) ||
        left.file.localeCompare(right.file, "en") ||
        left.line - right.line,
    );
  }
}
