import type { ProviderPreferences } from "../../canon/preferences.ts";
import type { RoutingTable } from "../../canon/table.ts";

/** A table in which callers may still write the former names of providers. Plain data: it crosses threads. */
interface TableWithFormerProviders extends RoutingTable {
  /** Former name → name. */
  readonly formerProviders: Readonly<Record<string, string>>;
}

export function withFormerProvider(table: RoutingTable, former: string, name: string): TableWithFormerProviders {
  return { ...table, formerProviders: { ...Object.fromEntries(formerProviders(table)), [former]: name } };
}

/** Former name and name of each; none in a table that the compiler made. */
export function formerProviders(table: RoutingTable): readonly (readonly [string, string])[] {
  return hasFormerProviders(table) ? Object.entries(table.formerProviders) : [];
}

function hasFormerProviders(table: RoutingTable): table is TableWithFormerProviders {
  return "formerProviders" in table;
}

/** Names of providers, with those that callers may still write for them. */
export function withFormerNames(table: RoutingTable, names: readonly string[]): readonly string[] {
  return [...names, ...formerProviders(table).flatMap(([former, name]) => (names.includes(name) ? [former] : []))];
}

const LISTS = ["order", "only", "ignore"] as const;

/** Preferences with the names that the table's rows have; the same object where no former name is in them. */
export function namedProviders(
  table: RoutingTable,
  preferences: ProviderPreferences | null,
): ProviderPreferences | null {
  const names = new Map(formerProviders(table));
  if (preferences === null || names.size === 0) return preferences;
  const changed = LISTS.filter((member) => preferences[member]?.some((name) => names.has(name)) === true);
  if (changed.length === 0) return preferences;
  const lists = changed.map((member) => [member, preferences[member]?.map((name) => names.get(name) ?? name)]);
  return { ...preferences, ...Object.fromEntries(lists) };
}
