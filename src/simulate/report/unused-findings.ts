import type { UsageTally } from "../compare/usage-tally.ts";
import type { Locations } from "../explain/positions.ts";
import type { CoverageFacts } from "../assertions/results.ts";
import type { CompiledSide } from "../side-contents.ts";
import type { UnusedFinding } from "./report.ts";

type Found = Omit<UnusedFinding, "in_base">;

/**
 * Parts of head that no request uses, in the order of the files, and whether base had them too.
 */
export function unusedRuleFindings(
  base: CompiledSide,
  baseTally: UsageTally,
  head: CompiledSide,
  headTally: UsageTally,
  locations: Locations,
): readonly UnusedFinding[] {
  const before = new Set(findingsOf(base, baseTally, null).map(keyOf));
  return findingsOf(head, headTally, locations).map((found) => ({
    kind: found.kind,
    subject: found.subject,
    in_base: before.has(keyOf(found)),
    location: found.location,
  }));
}

/**
 * Policies of the side's own files: content kept from base cannot be fixed in head's files.
 */
function ownRules(contents: CompiledSide["contents"]): CompiledSide["contents"] {
  return contents.filter(({ rules, isKept }) => rules !== null && !isKept);
}

function keyOf({ kind, subject }: Found): string {
  return `${kind}\n${subject}`;
}

function findingsOf(
  { table, contents }: CompiledSide,
  tally: UsageTally,
  locations: Locations | null,
): readonly Found[] {
  const found: Found[] = [];
  for (const { contract } of ownRules(contents)) {
    const location = (constraint: string) => locations?.constraint(contract.id, constraint) ?? null;
    const [first] = contract.constraints;
    if (!tally.effective.has(contract.id)) {
      const where = first === undefined ? null : location(first.name);
      found.push({ kind: "policy_without_effect", subject: contract.id, location: where });
    }
    for (const { name, reasons } of contract.constraints) {
      const id = `${contract.id}/${name}`;
      const fails = tally.failed.has(id) || tally.indeterminate.has(id);
      if (!fails) {
        // Of a policy without any effect that is nothing new.
        if (tally.effective.has(contract.id))
          found.push({ kind: "constraint_never_fails", subject: id, location: location(name) });
        continue;
      }
      if (!tally.passed.has(id))
        found.push({ kind: "constraint_never_passes", subject: id, location: location(name) });
      for (const reason of reasons) {
        if (tally.failed.has(id) && !tally.reasons.has(`${id}/${reason}`)) {
          found.push({
            kind: "reason_never_given",
            subject: `${id}/${reason}`,
            location: location(name),
          });
        }
      }
    }
  }
  for (const route of Object.values(table.routes)) {
    const location = locations?.route(route.id) ?? null;
    if (!tally.routes.has(route.id))
      found.push({ kind: "route_never_chosen", subject: route.id, location });
    else {
      for (const fallback of route.fallbacks) {
        const edge = `${route.id} → ${fallback}`;
        if (!tally.fallbacks.has(edge))
          found.push({ kind: "fallback_never_used", subject: edge, location });
      }
    }
  }
  for (const id of Object.keys(table.endpoints)) {
    if (!tally.endpoints.has(id))
      found.push({
        kind: "endpoint_never_chosen",
        subject: id,
        location: locations?.endpoint(id) ?? null,
      });
  }
  return found;
}

/** The same of one side, for coverage gates. */
export function coverageFacts({ table, contents }: CompiledSide, tally: UsageTally): CoverageFacts {
  const constraints = ownRules(contents).flatMap(({ contract }) =>
    contract.constraints.map(({ name, reasons }) => ({ id: `${contract.id}/${name}`, reasons })),
  );
  const routes = Object.values(table.routes);
  const covered = (ids: readonly string[], met: ReadonlySet<string>) =>
    ids.map((id) => ({ id, covered: met.has(id) }));
  return {
    constraints: covered(
      constraints.map(({ id }) => id),
      tally.failed.intersection(tally.passed),
    ),
    reasons: covered(
      constraints.flatMap(({ id, reasons }) => reasons.map((reason) => `${id}/${reason}`)),
      tally.reasons,
    ),
    routes: covered(
      routes.map(({ id }) => id),
      tally.routes,
    ),
    fallback_edges: covered(
      routes.flatMap(({ id, fallbacks }) => fallbacks.map((fallback) => `${id} → ${fallback}`)),
      tally.fallbacks,
    ),
  };
}
