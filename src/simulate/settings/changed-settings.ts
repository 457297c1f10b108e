import { createHash } from "node:crypto";
import type { Source } from "../../canon/diagnostic.ts";
import { canonicalJson } from "../../canon/json.ts";
import type { RoutingTable } from "../../canon/table.ts";
import { plainValue, type ConfigNode, type Member } from "../../compile/authored/tree.ts";
import { readTree } from "../../compile/files/read-tree.ts";
import { Findings } from "../../compile/findings/findings.ts";
import { furtherSources, type ConfigurationFiles } from "../../compile/load.ts";
import type { RowRename } from "../renames/renamed-table.ts";
import type { SettingChange } from "../report/report.ts";
import type { SideLocation } from "../report/location.ts";
import type { ReportedSide } from "../request.ts";
import { flowText } from "../causes/config-tree.ts";
import { changedEntries, type ChangedEntry } from "./changed-entries.ts";
import { admitsMore } from "./admitted-workloads.ts";
import { gateOf, type SettingGate } from "./raised.ts";
import { effectOf, type SettingEffect } from "./setting-effect.ts";

/** What is known of a side's policies. */
interface PolicyFacts {
  /** Those that take their slot from `initial_mode`, because no store has them; `null`: all of them. */
  readonly newPolicies: readonly string[] | null;
  /** Whether both sides' files compile to the same contents. */
  readonly samePolicies: boolean;
  /** Rows of base that have another name in head; none unless set. */
  readonly renames?: readonly RowRename[];
}

/**
 * Every difference of the files that two sides were compiled from, with both values and its location: also what decides nothing about where requests
 * go, so that a report which says "no request goes elsewhere" does not read as "nothing changes". None where a side's files are not known.
 *
 * @throws {Error} for a setting of which nothing says what it does.
 */
export function changedSettings(base: ReportedSide, head: ReportedSide, facts: PolicyFacts): readonly SettingChange[] {
  const [before, after] = [treeOf(base.files), treeOf(head.files)];
  const entries = before === null || after === null ? [] : changedEntries(before, after);
  const sides = { base, head };
  return [
    ...entries.map((entry) => settingOf(entry, sides, facts)),
    ...changedSources(base.files.policies, head.files.policies, (path) => ({
      effect: path.endsWith("_test.rego") ? "policy_test" : facts.samePolicies ? "same_policy" : "policy",
      gate: null,
    })),
    ...changedSources(base.files.keySets ?? [], head.files.keySets ?? [], () => ({
      effect: "workloads",
      gate: admitsMore(base.table, head.table) ? "weaker_obligation" : null,
    })),
  ];
}

/** As the compiler reads it; `null` where the text is not known. */
function treeOf(files: ConfigurationFiles): ConfigNode | null {
  if (files.routes.text === "") return null;
  return readTree(files.routes, furtherSources(files), new Findings(files.routes.path));
}

interface Sides {
  readonly base: ReportedSide;
  readonly head: ReportedSide;
}

function settingOf({ path, base: was, head: is }: ChangedEntry, sides: Sides, facts: PolicyFacts): SettingChange {
  const tables = { base: sides.base.table, head: sides.head.table };
  const values = {
    before: was === null ? null : plainValue(was.node),
    after: is === null ? null : plainValue(is.node),
  };
  return {
    path: path.join("."),
    before: was === null ? null : flowText(plainValue(was.node)),
    after: is === null ? null : flowText(plainValue(is.node)),
    where: whereOf(was, is, sides),
    effect: effectIn(path, tables, facts),
    gate: gateOf(path, values, tables),
  };
}

function whereOf(was: Member | null, is: Member | null, { base, head }: Sides): SideLocation | null {
  const member = is ?? was;
  if (member === null) return null;
  const [side, { files }] = is === null ? (["base", base] as const) : (["head", head] as const);
  const { line, column, file = files.routes.path } = is === null ? member.keyAt : changedPosition(was, is);
  return { file, line, column, side };
}

/** The first item that a list gains, where items stand on lines of their own. */
function changedPosition(was: Member | null, is: Member): Member["keyAt"] {
  if (was?.node.kind !== "list" || is.node.kind !== "list") return is.keyAt;
  const text = (node: ConfigNode): string => canonicalJson(plainValue(node));
  const known = new Set(was.node.items.map(text));
  return is.node.items.find((item) => !known.has(text(item)))?.at ?? is.keyAt;
}

function effectIn(
  path: readonly string[],
  tables: { readonly base: RoutingTable; readonly head: RoutingTable },
  { newPolicies, renames = [] }: PolicyFacts,
): SettingEffect {
  if (renames.some((rename) => isRowOf(rename, path))) return "renamed";
  const effect = effectOf(path);
  const [before, after] = [compiledOf(tables.base, path), compiledOf(tables.head, path)];
  if (effect !== "layout" && before !== undefined && canonicalJson(before) === canonicalJson(after ?? null)) {
    return "equivalent";
  }
  if (path[1] !== "initial_mode" || newPolicies === null) return effect;
  const [, , name = ""] = path;
  const { initialMode } = tables.head.policies;
  const goesBy = (id: string): boolean => name === id || (name === "*" && !Object.hasOwn(initialMode, id));
  return newPolicies.some(goesBy) ? effect : "known_policies";
}

/** Whether an entry is the row under either name. */
function isRowOf({ kind, from, to }: RowRename, [section, name = "", ...rest]: readonly string[]): boolean {
  const own = kind === "region_group" ? "regions" : `${kind}s`;
  return section === own && rest.length === 0 && (name === from || name === to);
}

/** The part of a compiled table that an entry is written for; `undefined` where it has none. */
function compiledOf(table: RoutingTable, [section = "", name = ""]: readonly string[]): object | undefined {
  const own = (rows: Readonly<Record<string, object>>): object | undefined =>
    Object.hasOwn(rows, name) ? rows[name] : undefined;
  const { providers, models, endpoints, routes, workspaces } = table;
  const rows: Readonly<Record<string, Readonly<Record<string, object>>>> = {
    providers,
    models,
    endpoints,
    routes,
    workspaces,
  };
  const found = Object.hasOwn(rows, section) ? rows[section] : undefined;
  if (found !== undefined) return own(found);
  if (section === "regions") return own(table.regionGroups);
  if (section === "vocabulary") return table.vocabulary;
  if (section === "console") return table.console;
  if (section === "workload_identity") return table.workloadIdentity;
  return section === "policies" ? table.policies : undefined;
}

/** Files that differ: their digests stand for their texts. */
function changedSources(
  base: readonly Source[],
  head: readonly Source[],
  judge: (path: string) => { readonly effect: SettingEffect; readonly gate: SettingGate | null },
): readonly SettingChange[] {
  const [before, after] = [base, head].map((sources) => new Map(sources.map(({ path, text }) => [path, text])));
  const paths = [...new Set([...base, ...head].map(({ path }) => path))].toSorted();
  return paths.flatMap((path): readonly SettingChange[] => {
    const [was, is] = [before?.get(path), after?.get(path)];
    if (was === is) return [];
    const line = firstDifference(is === undefined ? "" : (was ?? ""), is ?? "");
    const where = { file: path, line, column: 1, side: is === undefined ? ("base" as const) : ("head" as const) };
    return [{ path, before: digestOf(was), after: digestOf(is), where, ...judge(path) }];
  });
}

function digestOf(text: string | undefined): string | null {
  return text === undefined ? null : createHash("sha256").update(text).digest("hex").slice(0, 12);
}

/** The first line of a text that is not that of the other. From 1. */
function firstDifference(before: string, after: string): number {
  const old = before.split("\n");
  const lines = after.split("\n");
  const index = lines.findIndex((line, number) => line !== old[number]);
  return index === -1 ? lines.length : index + 1;
}
