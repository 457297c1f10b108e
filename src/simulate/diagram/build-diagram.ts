import { joinedNames, type PolicyOnly, KEY_LABELS, type Level } from "../space/levels.ts";
import { type Diagrams, leafOf, type Node } from "./diagrams.ts";
import type { Operation } from "../../canon/operation.ts";
import type { Budget } from "./budget.ts";
import type { Profiles } from "./profiles.ts";

/** The diagrams of one operation, which both sides share. */
export interface OperationDiagrams {
  readonly operation: Operation;
  readonly diagrams: Diagrams;
  readonly levels: readonly Level[];
  readonly profiles: Profiles;
  readonly budget: Budget;
}

/** An answer to one request, by its number, and whether it depends on a level. */
export interface Answer {
  readonly number: number;
  readonly dependsOn: (level: Level) => boolean;
}

/**
 * The answers of one reader for every request of a state. A request is varied only in the levels
 * that its answer depends on, so a reader that tests ten members one after the other is called about
 * ten times, not once for every combination.
 *
 * @param seen what the reader sees of each value of each level: equal texts for values that it does
 * not distinguish.
 */
export function buildDiagram(
  diagrams: Diagrams,
  levels: readonly Level[],
  seen: readonly (readonly string[])[],
  start: PolicyOnly,
  answer: (sample: PolicyOnly) => Answer,
): Node {
  const known = new Map<string, Node>();
  /** @param fixed what the reader sees of the levels that have been chosen; `null` for the others. */
  const visit = (
    sample: PolicyOnly,
    fixed: readonly (string | null)[],
    given: Answer | null,
  ): Node => {
    const key = keyOf(levels, fixed);
    const same = known.get(key);
    if (same !== undefined) return same;
    const own = given ?? answer(sample);
    const depth = levels.findIndex(
      (level, index) =>
        fixed[index] === null && !isBlind(seen[index] ?? []) && own.dependsOn(level),
    );
    const made = depth === -1 ? leafOf(own.number) : varied(sample, fixed, own, depth);
    known.set(key, made);
    return made;
  };
  const varied = (
    sample: PolicyOnly,
    fixed: readonly (string | null)[],
    own: Answer,
    depth: number,
  ): Node => {
    const texts = seen[depth] ?? [];
    const children = new Map<string, Node>();
    for (const [value, text] of texts.entries()) {
      if (children.has(text)) continue;
      const chosen = levels[depth]?.set(sample, value) ?? sample;
      children.set(text, visit(chosen, fixed.with(depth, text), value === 0 ? own : null));
    }
    return diagrams.select(
      depth,
      texts.map((text) => children.get(text) ?? 0),
    );
  };
  const first = levels.reduce((sample, level) => level.set(sample, 0), start);
  return visit(
    first,
    levels.map(() => null),
    null,
  );
}

/** Sets of labels that the reader sees alike have the same key. */
function keyOf(levels: readonly Level[], fixed: readonly (string | null)[]): string {
  let labels = "";
  const texts = fixed.map((text, index) => {
    if (text === null || levels[index]?.name !== KEY_LABELS) return text;
    labels = joinedNames(labels, text);
    return "";
  });
  return JSON.stringify([texts, labels]);
}

/** Whether a reader distinguishes no values of a level. @param texts what it sees of each. */
export function isBlind(texts: readonly string[]): boolean {
  return texts.every((text) => text === texts[0]);
}
