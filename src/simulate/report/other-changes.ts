import { canonicalJson } from "../../canon/json.ts";
import type { RoutingTable } from "../../canon/table.ts";

const KINDS = ["providers", "models", "endpoints", "routes", "workspaces"] as const;

/** Members that decide where requests go or what stands there: a difference in them shows in the classes. */
const DECIDES: Readonly<Record<(typeof KINDS)[number], readonly string[]>> = {
  providers: ["region", "baseUrl", "apiVersion", "retention", "trainsOnData", "dialect"],
  models: ["operations", "capabilities", "dimensions", "defaultDimensions", "signatureFamily", "contextWindow"],
  endpoints: ["model", "provider", "region", "dialect", "upstreamModel", "capabilities", "features", "nativeFeatures"],
  routes: ["primary", "fallbacks", "tiers", "onGap", "emulateSchema", "operations"],
  workspaces: ["tier", "labels", "approve", "defaultModerationRoute"],
};

/**
 * Settings that both sides have and that differ, and by which no request goes elsewhere: limits, timeouts, prices, credentials. So that a
 * report which says "no request goes elsewhere" does not read as "nothing changes".
 *
 * @returns paths as routes.yaml writes them, sorted.
 */
export function otherChanges(base: RoutingTable, head: RoutingTable): readonly string[] {
  const found: string[] = [];
  for (const kind of KINDS) {
    const rows: Readonly<Record<string, object>> = head[kind];
    const before: Readonly<Record<string, object>> = base[kind];
    for (const [id, row] of Object.entries(rows)) {
      const old = Object.hasOwn(before, id) ? before[id] : undefined;
      if (old === undefined) continue;
      for (const member of new Set([...Object.keys(old), ...Object.keys(row)])) {
        if (DECIDES[kind].includes(member)) continue;
        if (textOf(old, member) !== textOf(row, member)) found.push(`${kind}.${id}.${snakeCase(member)}`);
      }
    }
  }
  return found.toSorted();
}

function textOf(row: object, member: string): string {
  const value: unknown = Object.getOwnPropertyDescriptor(row, member)?.value;
  return value === undefined ? "" : canonicalJson(value);
}

function snakeCase(member: string): string {
  return member.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
