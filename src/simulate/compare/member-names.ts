import { remembered } from "../remembered.ts";
import type { RoutingTable } from "../../canon/table.ts";
import { routeCandidates } from "../../decide/candidates.ts";
import type { Member, Outcome, OutcomePair, OfSides } from "../sample-request.ts";
import { routeOf } from "../table-rows.ts";

/** Members of a class whose routes name the same endpoints. */
export interface NamedMembers {
  readonly members: readonly [Member, ...Member[]];
  /**
   * A pair of outcomes of the class's first member with the names that these members have for its
   * endpoints.
   */
  readonly named: (pair: OutcomePair) => OutcomePair;
}

/**
 * The members of a class, together where a report can show the same endpoints for them. The routes
 * of a class have alike endpoints at the same positions, under any name.
 */
export function namedMembers(
  members: readonly Member[],
  tables: OfSides<RoutingTable>,
): readonly NamedMembers[] {
  const [first] = members;
  if (first === undefined) return [];
  const found = new Map<
    string,
    { readonly members: [Member, ...Member[]]; readonly named: NamedMembers["named"] }
  >();
  const firstNames = namesOf(first, tables);
  for (const member of members) {
    const names = namesOf(member, tables);
    const key = JSON.stringify(names);
    const same = found.get(key);
    if (same !== undefined) same.members.push(member);
    else
      found.set(key, {
        members: [member],
        named: key === JSON.stringify(firstNames) ? unchanged : renaming(firstNames, names),
      });
  }
  return [...found.values()];
}

const unchanged = (pair: OutcomePair): OutcomePair => pair;

/** Of each side the names of a route's endpoints and of their models, in table order. */
type Names = OfSides<readonly Name[]>;

interface Name {
  readonly endpoint: string;
  readonly model: string;
}

function namesOf(member: Member, { base, head }: OfSides<RoutingTable>): Names {
  const of = (table: RoutingTable): readonly Name[] => {
    const route = routeOf(table, member);
    if (route === null) return [];
    return routeCandidates(table, route).map(({ endpoint: { id, model } }) => ({
      endpoint: id,
      model,
    }));
  };
  return { base: of(base), head: of(head) };
}

/** The same pair gives the same object, which groups are found by. */
function renaming(from: Names, to: Names): NamedMembers["named"] {
  const known = new WeakMap<OutcomePair, OutcomePair>();
  return (pair) => {
    return remembered(known, pair, () => ({
      ...pair,
      base: renamed(pair.base, from.base, to.base),
      head: renamed(pair.head, from.head, to.head),
    }));
  };
}

function renamed(outcome: Outcome, from: readonly Name[], to: readonly Name[]): Outcome {
  const plan = outcome.plan.map((planned) => {
    const position = from.findIndex(({ endpoint }) => endpoint === planned.endpoint);
    return { ...planned, ...to[position] };
  });
  return { ...outcome, plan };
}
