import type { Behaviour, ResultMember } from "../behaviour.ts";
import { unplayable, type Problem } from "../problem.ts";

/** Members about the indices of results, which not every protocol has. */
export const INDEX_MEMBERS: readonly ResultMember[] = [
  "permute",
  "duplicateIndex",
  "indexOutOfRange",
  "noIndex",
];

/** One result at its index in the answer. */
export interface Listed<Item> {
  /** The index of its input in the answer; `null` omits it. */
  readonly index: number | null;
  readonly item: Item;
}

/**
 * The list of results as the behaviour wants it: short, in another order, with other indices.
 *
 * @param right the results as they should be.
 * @param inputs how many inputs the request has.
 * @returns the list; or a problem where it has too few results for the requested fault, because a
 * test of it would test nothing.
 */
export function listResults<Item>(
  right: readonly { readonly index: number; readonly item: Item }[],
  inputs: number,
  behaviour: Behaviour,
): readonly Listed<Item>[] | Problem {
  const problem = tooFew(right.length, behaviour);
  if (problem !== null) return problem;
  const kept: Listed<Item>[] = right.slice(0, right.length - behaviour.short);
  if (behaviour.permute) kept.reverse();
  const first = kept[0]?.index ?? null;
  return kept.map(({ index, item }, position) => {
    if (behaviour.noIndex) return { index: null, item };
    if (behaviour.duplicateIndex && position === 1) return { index: first, item };
    return {
      index: behaviour.indexOutOfRange && position === kept.length - 1 ? inputs : index,
      item,
    };
  });
}

/** The member `index`, where a result has it. */
export function indexMember({ index }: Listed<unknown>): { readonly index?: number } {
  return index === null ? {} : { index };
}

function tooFew(count: number, behaviour: Behaviour): Problem | null {
  const { short, permute, duplicateIndex, indexOutOfRange, noIndex, wrongDimension, nan } =
    behaviour;
  const atLeast =
    permute || duplicateIndex ? 2 : indexOutOfRange || noIndex || wrongDimension || nan ? 1 : 0;
  if (count >= short + atLeast) return null;
  return unplayable(
    `mock: the instructions request at least ${short + atLeast} results, and this answer has ${count}`,
  );
}

/** A number that JSON can write and no double can hold. */
export function overflow(): object {
  return JSON.rawJSON("1e999");
}

/** An estimate, as for prompts: four characters a token. */
export function tokensOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + Math.ceil(text.length / 4), 0);
}
