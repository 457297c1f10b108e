import { canonicalJson } from "../../canon/json.ts";
import type { RoutingTable } from "../../canon/table.ts";

const KINDS = ["providers", "models", "endpoints", "routes", "workspaces"] as const;

/** Members that decide where requests go: a difference in them shows in the classes. */
const DECIDES: Readonly<Record<(typeof KINDS)[number], readonly string[]>> = {
  providers: ["region", "baseUrl", "network", "apiVersion", "retention", "trainsOnData", "dialect"],
  models: ["operations", "capabilities", "dimensions", "signatureFamily"],
  endpoints: ["model", "provider", "region", "dialect", "upstreamModel", "capabilities", "features", "nativeFeatures"],
  routes: ["primary", "fallbacks", "tiers", "onGap", "emulateSchema", "operations"],
  workspaces: ["tier", "labels", "approve", "defaultModerationRoute"],
};

/**
 * What differs in the table besides what classes show: limits, timeouts, prices, credentials, vocabulary, region groups, and rows that came or went. So
 * that a report which says "no request goes elsewhere" does not read as "nothing changes".
 *
 * @param newPolicies those that take their slot from `initial_mode`, because no store has them; `null`: all of them.
 * @returns paths as routes.yaml writes them, sorted; `+` and `-` before rows that head alone or base alone has.
 */
export function otherChanges(
  base: RoutingTable,
  head: RoutingTable,
  newPolicies: readonly string[] | null,
): readonly string[] {
  const found: string[] = [];
  for (const kind of KINDS) {
    const rows: Readonly<Record<string, object>> = head[kind];
    const before: Readonly<Record<string, object>> = base[kind];
    for (const id of Object.keys(before)) if (!Object.hasOwn(rows, id)) found.push(`- ${kind}.${id}`);
    for (const [id, row] of Object.entries(rows)) {
      const old = Object.hasOwn(before, id) ? before[id] : undefined;
      if (old === undefined) {
        found.push(`+ ${kind}.${id}`);
        continue;
      }
      for (const member of new Set([...Object.keys(old), ...Object.keys(row)])) {
        if (DECIDES[kind].includes(member)) continue;
        if (textOf(old, member) !== textOf(row, member)) found.push(`${kind}.${id}.${snakeCase(member)}`);
      }
    }
  }
  found.push(...membersThatDiffer("regions", base.regionGroups, head.regionGroups));
  found.push(...membersThatDiffer("vocabulary", base.vocabulary, head.vocabulary));
  const modes = membersThatDiffer("policies.initial_mode", base.policies.initialMode, head.policies.initialMode);
  found.push(...modes.map((path) => (startsSomething(path, head, newPolicies) ? path : `${path} (${NOT_SEEN_AGAIN})`)));
  found.push(...membersThatDiffer("policies.promotion", base.policies.promotion ?? {}, head.policies.promotion ?? {}));
  if (base.policies.dir !== head.policies.dir) found.push("policies.dir");
  if (textOf(base.policies, "managedBy") !== textOf(head.policies, "managedBy")) found.push("policies.managed_by");
  return found.toSorted();
}

const NOT_SEEN_AGAIN = "without effect on policies that a store knows";

/** Whether some policy goes by this row of `initial_mode`. */
function startsSomething(path: string, head: RoutingTable, newPolicies: readonly string[] | null): boolean {
  const { initialMode } = head.policies;
  const name = path.slice("policies.initial_mode.".length);
  const goesBy = (id: string): boolean => name === id || (name === "*" && !Object.hasOwn(initialMode, id));
  return newPolicies === null || newPolicies.some(goesBy);
}

function membersThatDiffer(path: string, base: object, head: object): readonly string[] {
  const members = new Set([...Object.keys(base), ...Object.keys(head)]);
  return [...members]
    .filter((member) => textOf(base, member) !== textOf(head, member))
    .map((member) => `${path}.${member}`);
}

function textOf(row: object, member: string): string {
  const value: unknown = Object.getOwnPropertyDescriptor(row, member)?.value;
  return value === undefined ? "" : canonicalJson(value);
}

function snakeCase(member: string): string {
  return member.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
