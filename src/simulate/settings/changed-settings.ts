import type { Source } from "../../canon/diagnostic.ts";
import { canonicalJson } from "../../canon/json.ts";
import type { RoutingTable } from "../../canon/table.ts";
import { ROW_KINDS, type RowRename } from "../renamed-table.ts";
import type { SettingChange } from "../report/report.ts";
import type { ReportedSide } from "../request.ts";
import {
  changedMembers,
  flowText,
  locationOf,
  treeOf,
  valueOf,
  type ChangedMember,
} from "../causes/config-tree.ts";
import { admitsMore, gateOf, type SettingGate } from "./raised.ts";
import { effectOf, hasRows, type SettingEffect } from "./setting-effect.ts";
import { rowOf } from "../table-rows.ts";
import type { OfSides } from "../sample-request.ts";
import { textDigest } from "../text-digest.ts";

/** Facts about policies and renames that decide the effect of a setting. */
interface PolicyFacts {
  /**
   * Those that take their slot from `initial_mode`, because no store has them; `null`: all of them.
   */
  readonly newPolicies: readonly string[] | null;
  /** Whether both sides' files compile to the same contents. */
  readonly samePolicies: boolean;
  /** Rows of base that have another name in head; none unless set. */
  readonly renames?: readonly RowRename[];
}

/**
 * Every difference between the files that two sides were compiled from, with both values and its
 * location. Includes settings that do not decide where requests go, so that "no request goes
 * elsewhere" does not read as "nothing changes". Empty where a side's files are unknown.
 *
 * @throws {Error} for a setting without an effect in `setting-effect.ts`.
 */
export function changedSettings(
  base: ReportedSide,
  head: ReportedSide,
  facts: PolicyFacts,
): readonly SettingChange[] {
  const [before, after] = [treeOf(base.files), treeOf(head.files)];
  const entries =
    before === null || after === null
      ? []
      : changedMembers(
          before,
          after,
          ([section = "", ...rest], isOnOneSide) =>
            isOnOneSide && rest.length === 1 && hasRows(section),
        );
  const sides = { base, head };
  return [
    ...entries.map((entry) => settingOf(entry, sides, facts)),
    ...changedSources(base.files.policies, head.files.policies, (path) => ({
      effect: path.endsWith("_test.rego")
        ? "policy_test"
        : facts.samePolicies
          ? "same_policy"
          : "policy",
      gate: null,
    })),
    ...changedSources(base.files.keySets ?? [], head.files.keySets ?? [], () => ({
      effect: "workloads",
      gate: admitsMore({ base: base.table, head: head.table }) ? "weaker_obligation" : null,
    })),
  ];
}

function settingOf(
  member: ChangedMember,
  { base, head }: OfSides<ReportedSide>,
  facts: PolicyFacts,
): SettingChange {
  const { path } = member;
  const tables = { base: base.table, head: head.table };
  const values = { before: valueOf(member.base) ?? null, after: valueOf(member.head) ?? null };
  return {
    path: path.join("."),
    before: member.base === null ? null : flowText(values.before),
    after: member.head === null ? null : flowText(values.after),
    location: locationOf(member, { base: base.files.routes.path, head: head.files.routes.path }),
    effect: effectIn(path, tables, facts),
    gate: gateOf(path, values, tables),
  };
}

function effectIn(
  path: readonly string[],
  tables: OfSides<RoutingTable>,
  { newPolicies, renames = [] }: PolicyFacts,
): SettingEffect {
  if (renames.some((rename) => isRowOf(rename, path))) return "renamed";
  const effect = effectOf(path);
  const [before, after] = [compiledOf(tables.base, path), compiledOf(tables.head, path)];
  if (
    effect !== "layout" &&
    before !== undefined &&
    canonicalJson(before) === canonicalJson(after ?? null)
  ) {
    return "equivalent";
  }
  if (path[1] !== "initial_mode" || newPolicies === null) return effect;
  const [, , name = ""] = path;
  const { initialMode } = tables.head.policies;
  const goesBy = (id: string): boolean =>
    name === id || (name === "*" && !Object.hasOwn(initialMode, id));
  return newPolicies.some(goesBy) ? effect : "known_policies";
}

/** Whether an entry is the row under either name. */
function isRowOf(
  { kind, from, to }: RowRename,
  [section = "", name = "", ...rest]: readonly string[],
): boolean {
  return (
    rowOf<string>(ROW_KINDS, section) === kind &&
    rest.length === 0 &&
    (name === from || name === to)
  );
}

/** The part of a compiled table that an entry is written for; `undefined` where it has none. */
function compiledOf(
  table: RoutingTable,
  [section = "", name = ""]: readonly string[],
): object | undefined {
  const { providers, models, endpoints, routes, workspaces, regionGroups: regions } = table;
  const rows = rowOf<Readonly<Record<string, object>>>(
    { providers, models, endpoints, routes, workspaces, regions },
    section,
  );
  if (rows !== undefined) return rowOf(rows, name);
  const { vocabulary, console, workloadIdentity, policies, alerts } = table;
  return rowOf<object | undefined>(
    { vocabulary, console, workload_identity: workloadIdentity, policies, alerts },
    section,
  );
}

/** Files that differ: their digests stand for their texts. */
function changedSources(
  base: readonly Source[],
  head: readonly Source[],
  judge: (path: string) => { readonly effect: SettingEffect; readonly gate: SettingGate | null },
): readonly SettingChange[] {
  const [before, after] = [base, head].map(
    (sources) => new Map(sources.map(({ path, text }) => [path, text])),
  );
  const paths = [...new Set([...base, ...head].map(({ path }) => path))].toSorted();
  return paths.flatMap((path): readonly SettingChange[] => {
    const [was, is] = [before?.get(path), after?.get(path)];
    if (was === is) return [];
    const line = firstDifference(is === undefined ? "" : (was ?? ""), is ?? "");
    const location = {
      file: path,
      line,
      column: 1,
      side: is === undefined ? ("base" as const) : ("head" as const),
    };
    return [
      {
        path,
        before: was === undefined ? null : textDigest(was),
        after: is === undefined ? null : textDigest(is),
        location,
        ...judge(path),
      },
    ];
  });
}

/** The first line of `after` that differs from `before`; from 1. */
function firstDifference(before: string, after: string): number {
  const old = before.split("\n");
  const lines = after.split("\n");
  const index = lines.findIndex((line, number) => line !== old[number]);
  return index === -1 ? lines.length : index + 1;
}
