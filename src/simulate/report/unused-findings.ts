import type { UsageTally } from "../compare/simulation-tally.ts";
import type { Locations } from "../explain/positions.ts";
import type { CoverageFacts } from "../assertions/run.ts";
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
    ...found,
    in_base: before.has(keyOf(found)),
  }));
}

/**
 * Policies of the side's own files: content kept from base cannot be fixed in head's files.
 */
function filePolicies(contents: CompiledSide["contents"]): CompiledSide["contents"] {
  return contents.filter(({ rules, isKept }) => rules !== null && !isKept);
}

function keyOf({ kind, subject }: Found) {
  return `${kind}\n${subject}`;
}

function findingsOf(
  { table, contents }: CompiledSide,
  tally: UsageTally,
  locations: Locations | null,
): readonly Found[] {
  const found: Found[] = [];
  const add = (kind: Found["kind"], subject: string, location: Found["location"] = null) => {
    found.push({ kind, subject, location });
  };
  for (const { contract } of filePolicies(contents)) {
    const { id: policy, constraints } = contract;
    const location = (constraint: string) => locations?.constraint(policy, constraint);
    const [first] = constraints;
    const isEffective = tally.effective.has(policy);
    if (!isEffective) add("policy_without_effect", policy, first && location(first.name));
    for (const { name, reasons } of constraints) {
      const id = `${policy}/${name}`;
      const hasFailed = tally.failed.has(id);
      if (!hasFailed && !tally.indeterminate.has(id)) {
        // Of a policy without any effect that is nothing new.
        if (isEffective) add("constraint_never_fails", id, location(name));
        continue;
      }
      if (!tally.passed.has(id)) add("constraint_never_passes", id, location(name));
      for (const reason of reasons.filter((each) => !tally.reasons.has(`${id}/${each}`)))
        if (hasFailed) add("reason_never_given", `${id}/${reason}`, location(name));
    }
  }
  for (const { id, fallbacks } of Object.values(table.routes)) {
    const location = locations?.route(id);
    const isChosen = tally.routes.has(id);
    if (!isChosen) add("route_never_chosen", id, location);
    for (const edge of isChosen ? fallbacks.map((fallback) => `${id} → ${fallback}`) : [])
      if (!tally.fallbacks.has(edge)) add("fallback_never_used", edge, location);
  }
  for (const id of Object.keys(table.endpoints))
    if (!tally.endpoints.has(id)) add("endpoint_never_chosen", id, locations?.endpoint(id));
  return found;
}

/** The same of one side, for coverage gates. */
export function coverageFacts({ table, contents }: CompiledSide, tally: UsageTally): CoverageFacts {
  const constraints = filePolicies(contents).flatMap(({ contract }) =>
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
