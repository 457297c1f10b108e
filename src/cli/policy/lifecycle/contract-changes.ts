import { canonicalJson, type JsonObject } from "../../../canon/json.ts";
import { objectsOf, textOf, stringsOf } from "../../terminal/read-answer.ts";

/** A change of what a policy promises; `+` is new, `-` is gone, `~` is otherwise than before. */
export interface ContractChange {
  readonly mark: "+" | "-" | "~";
  readonly text: string;
}

/** What differs between two contracts; `null` for a side without rules: nothing before a first content, or a policy's end. */
export function contractChanges(from: JsonObject | null, to: JsonObject | null): readonly ContractChange[] {
  return [
    ...listChanges("constraint", from, to, "constraints", constraintChanges, constraintText),
    ...listChanges("obligation", from, to, "obligations", obligationChanges, obligationText),
    ...valueListChanges("operation", stringsOf(from, "operations"), stringsOf(to, "operations")),
    ...(from === null || to === null ? [] : valueChanges("title", textOf(from, "title"), textOf(to, "title"))),
    ...valueListChanges("owner", stringsOf(from, "owners"), stringsOf(to, "owners")),
  ];
}

function listChanges(
  what: string,
  from: JsonObject | null,
  to: JsonObject | null,
  member: string,
  changes: (before: JsonObject, after: JsonObject) => readonly string[],
  describe: (one: JsonObject) => string,
): readonly ContractChange[] {
  const before = byName(objectsOf(from, member));
  const after = byName(objectsOf(to, member));
  const names = [...new Set([...before.keys(), ...after.keys()])].toSorted();
  return names.flatMap((name): readonly ContractChange[] => {
    const [old, young] = [before.get(name), after.get(name)];
    if (old === undefined) return young === undefined ? [] : [{ mark: "+", text: `${what} ${describe(young)}` }];
    if (young === undefined) return [{ mark: "-", text: `${what} ${describe(old)}` }];
    if (canonicalJson(old) === canonicalJson(young)) return [];
    return [{ mark: "~", text: `${what} ${name}: ${changes(old, young).join("; ") || "changed"}` }];
  });
}

function byName(items: readonly JsonObject[]): ReadonlyMap<string, JsonObject> {
  return new Map(items.map((item) => [textOf(item, "name"), item]));
}

export function constraintText(constraint: JsonObject): string {
  const reasons = stringsOf(constraint, "reasons").join(", ");
  return `${textOf(constraint, "name")} (${effectText(constraint)}): ${reasons}`;
}

function effectText(constraint: JsonObject): string {
  return textOf(constraint, "effect").replaceAll("_", " ");
}

function constraintChanges(before: JsonObject, after: JsonObject): readonly string[] {
  const effects = [effectText(before), effectText(after)];
  const [old, young] = [stringsOf(before, "reasons"), stringsOf(after, "reasons")];
  const [gained, lost] = [young.filter((value) => !old.includes(value)), old.filter((value) => !young.includes(value))];
  // The first reason speaks for a constraint that fails without one.
  const isReordered = gained.length === 0 && lost.length === 0 && old.join() !== young.join();
  return [
    ...(effects[0] === effects[1] ? [] : [`effect ${effects.join(" → ")}`]),
    ...gained.map((value) => `new reason ${value}`),
    ...lost.map((value) => `no reason ${value} any more`),
    ...(isReordered ? [`reasons in another order: ${young.join(", ")}`] : []),
  ];
}

export function obligationText(obligation: JsonObject): string {
  return `${textOf(obligation, "name")}: ${demandText(obligation)}`;
}

function demandText(obligation: JsonObject): string {
  return `${textOf(obligation, "kind")} ${textOf(obligation, "value")}`;
}

function obligationChanges(before: JsonObject, after: JsonObject): readonly string[] {
  return [`${demandText(before)} → ${demandText(after)}`];
}

function valueListChanges(
  what: string,
  before: readonly string[],
  after: readonly string[],
): readonly ContractChange[] {
  return [
    ...after
      .filter((value) => !before.includes(value))
      .map((value) => ({ mark: "+", text: `${what} ${value}` }) as const),
    ...before
      .filter((value) => !after.includes(value))
      .map((value) => ({ mark: "-", text: `${what} ${value}` }) as const),
  ];
}

function valueChanges(what: string, before: string, after: string): readonly ContractChange[] {
  return before === after ? [] : [{ mark: "~", text: `${what}: ${before} → ${after}` }];
}
