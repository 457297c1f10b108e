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

/**
 * The answers of one reader for every request of a state. It is called once for all values that it
 * does not distinguish.
 *
 * @param seen what the reader sees of each value of each level.
 * @param answer the number of its answer.
 */
export function buildDiagram(
  diagrams: Diagrams,
  levels: readonly Level[],
  seen: readonly (readonly string[])[],
  start: PolicyOnly,
  answer: (sample: PolicyOnly) => number,
): Node {
  const known = new Map<string, Node>();
  const visit = (depth: number, sample: PolicyOnly, scalars: string, labels: string): Node => {
    const level = levels[depth];
    if (level === undefined) return leafOf(answer(sample));
    const texts = seen[depth] ?? [];
    if (isBlind(texts)) return visit(depth + 1, level.set(sample, 0), scalars, labels);
    const key = `${depth}\n${scalars}\n\n${labels}`;
    const same = known.get(key);
    if (same !== undefined) return same;
    const isLabel = level.name === KEY_LABELS;
    const children = new Map<string, Node>();
    for (const [value, text] of texts.entries()) {
      if (children.has(text)) continue;
      const more: readonly [string, string] = isLabel
        ? [scalars, joinedNames(labels, text)]
        : [`${scalars}|${text}`, labels];
      children.set(text, visit(depth + 1, level.set(sample, value), ...more));
    }
    const made = diagrams.branch(
      depth,
      texts.map((text) => children.get(text) ?? 0),
    );
    known.set(key, made);
    return made;
  };
  return visit(0, start, "", "");
}

/** Whether a reader distinguishes no values of a level. @param texts what it sees of each. */
export function isBlind(texts: readonly string[]): boolean {
  return texts.every((text) => text === texts[0]);
}
