import { isJsonObject } from "../../src/canon/json.ts";
import type { Wanted } from "./cases/case.ts";

/**
 * Whether the solutions are those that the case wants. Solutions come in any order; within one,
 * sets have no order and arrays do. JSON says only "list" for both, so which list is a set has to
 * be given.
 *
 * @param sets gives every set within the solutions, as the list that it is there; requested only
 * where it matters.
 */
export function sameBindings(
  wanted: Extract<Wanted, { kind: "bindings" }>,
  got: unknown,
  sets: () => readonly unknown[],
): boolean {
  if (!Array.isArray(got) || got.length !== wanted.bindings.length) return false;
  if (sameMembers(wanted.bindings, got, () => false)) return true;
  const values = got.flatMap((solution: unknown) =>
    isJsonObject(solution) ? Object.values(solution) : [],
  );
  const known = new Set(
    [...sets(), ...(wanted.asSets ? values : [])].map((set) => JSON.stringify(set)),
  );
  return sameMembers(wanted.bindings, got, (list) => known.has(JSON.stringify(list)));
}

type IsSet = (list: readonly unknown[]) => boolean;

/**
 * Each member of one list has a partner in the other; sameness is transitive, so the first partner
 * found will do.
 */
function sameMembers(wanted: readonly unknown[], got: readonly unknown[], isSet: IsSet): boolean {
  const left = [...got];
  return wanted.every((member) => {
    const at = left.findIndex((candidate) => same(member, candidate, isSet));
    if (at !== -1) left.splice(at, 1);
    return at !== -1;
  });
}

function same(wanted: unknown, got: unknown, isSet: IsSet): boolean {
  if (Array.isArray(wanted) && Array.isArray(got)) {
    if (wanted.length !== got.length) return false;
    if (isSet(got)) return sameMembers(wanted, got, isSet);
    return wanted.every((member, index) => same(member, got[index], isSet));
  }
  if (isJsonObject(wanted) && isJsonObject(got)) {
    const names = Object.keys(wanted);
    if (names.length !== Object.keys(got).length) return false;
    return names.every((name) => Object.hasOwn(got, name) && same(wanted[name], got[name], isSet));
  }
  return wanted === got;
}
