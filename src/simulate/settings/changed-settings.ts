import type { Source } from "../../canon/diagnostic.ts";
import {
  canonicalJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
} from "../../canon/json.ts";
import {
  type Approvals,
  DEFAULT_PROMOTION,
  isPlaintext,
  RETENTIONS,
  type RoutingTable,
} from "../../canon/table.ts";
import { newNames, type RenamedKind, ROW_KINDS, type RowRename } from "../renamed-table.ts";
import type { SettingChange, SideLocation, SourceLocation } from "../report/report.ts";
import type { ReportedSide } from "../request.ts";
import {
  type ChangedMember,
  changedMembers,
  type EntryPath,
  flowText,
  locationOf,
  treeOf,
  valueOf,
} from "../causes/config-tree.ts";
import { effectOf, hasRows, type SettingEffect } from "./setting-effect.ts";
import { rowOf } from "../table-rows.ts";
import type { OfSides } from "../sample-request.ts";
import { textDigest } from "../text-digest.ts";
import { coversClaims, type WorkloadRule } from "../../canon/workload-identity.ts";
import type { Assertion, Assertions } from "../assertions/schema.ts";
import { nameKind } from "../assertions/check-names.ts";
import { loosenedMembers } from "../assertions/strictness.ts";

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
    before: member.base && flowText(values.before),
    after: member.head && flowText(values.after),
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
  const usesSetting = (id: string) =>
    name === id || (name === "*" && !Object.hasOwn(initialMode, id));
  return newPolicies.some(usesSetting) ? effect : "known_policies";
}

/** Whether an entry is the row under either name. */
function isRowOf(
  { kind, from, to }: RowRename,
  [section = "", name = "", ...rest]: readonly string[],
) {
  return (
    rowOf<string>(ROW_KINDS, section) === kind &&
    rest.length === 0 &&
    (name === from || name === to)
  );
}

/** The part of a compiled table that an entry is written for; `undefined` where it has none. */
function compiledOf(table: RoutingTable, [section = "", name = ""]: readonly string[]) {
  const { regionGroups: regions, workloadIdentity: workload_identity, ...others } = table;
  const found = rowOf<unknown>({ ...others, regions, workload_identity }, section);
  if (typeof found !== "object" || found === null) return undefined;
  return hasRows(section) || section === "regions" ? rowOf<object>({ ...found }, name) : found;
}

/** Files that differ, with the digests of their texts. */
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

/** Risks of a changed setting; values of `--fail-on`. */
type SettingGate = "higher_ceiling" | "weaker_obligation" | "assertions";

/**
 * Whether a changed setting allows more use than before, or requires less. Values that cannot be
 * compared, such as budgets for different periods, count as more.
 *
 * @param before and after as written; `null` where a side does not have it.
 */
function gateOf(
  path: EntryPath,
  { before, after }: { readonly before: unknown; readonly after: unknown },
  tables: OfSides<RoutingTable>,
): SettingGate | null {
  const [section, id = "", member] = path;
  if (section === "workspaces" && member === "limits")
    return isRaised(before, after) ? "higher_ceiling" : null;
  if (section === "policies" && id === "promotion") {
    return requiresLess(tables, member ?? "*") ? "weaker_obligation" : null;
  }
  const isWeaker =
    (section === "policies" && id === "managed_by" && grows(managersOf, tables)) ||
    (section === "workspaces" && member === "approve" && approvesMore(tables, id, path[3])) ||
    (section === "workload_identity" && admitsMore(tables)) ||
    (section === "console" && id === "roles" && grows(rolesOf, tables)) ||
    (section === "providers" && member !== undefined && isLessPrivate(tables, id, member));
  return isWeaker ? "weaker_obligation" : null;
}

function grows(
  of: (table: RoutingTable) => ReadonlySet<string>,
  { base, head }: OfSides<RoutingTable>,
) {
  return !of(head).isSubsetOf(of(base));
}

/** A limit where there was none is stricter. */
function isRaised(before: unknown, after: unknown): boolean {
  if (before === null) return false;
  return typeof before !== "number" || typeof after !== "number" || after > before;
}

function requiresLess({ base, head }: OfSides<RoutingTable>, id: string): boolean {
  const [before, after] = [requirements(base, id), requirements(head, id)];
  return (
    after.approvals < before.approvals ||
    after.soak < before.soak ||
    after.decisions < before.decisions ||
    before.roles.some((role) => !after.roles.includes(role)) ||
    (after.selfApproval && !before.selfApproval) ||
    (["noIndeterminate", "report", "assertions"] as const).some(
      (name) => before[name] && !after[name],
    )
  );
}

function requirements({ policies: { promotion = {} } }: RoutingTable, id: string) {
  return rowOf(promotion, id) ?? promotion["*"] ?? DEFAULT_PROMOTION;
}

/** The workspaces whose keys manage policies. */
function managersOf({ policies: { managedBy }, workspaces }: RoutingTable): ReadonlySet<string> {
  const all = Object.keys(workspaces);
  return new Set(managedBy ?? (all.length === 1 ? all : []));
}

/** The roles that groups have in workspaces. */
function rolesOf({ console, workspaces }: RoutingTable): ReadonlySet<string> {
  const all = Object.keys(workspaces);
  return new Set(
    console?.roles.flatMap(({ group, role, workspaces: ids }) =>
      (ids ?? all).map((workspace) => JSON.stringify([group, role, workspace])),
    ),
  );
}

/** Whether a workspace that both sides have may use providers that keep more, or train. */
function approvesMore(
  { base, head }: OfSides<RoutingTable>,
  id: string,
  list: string | undefined,
): boolean {
  const [before, after] = [base, head].map(({ workspaces }) => rowOf(workspaces, id)?.approve);
  if (before === undefined || after === undefined) return false;
  if (list === "data_collection")
    return before.dataCollection === "deny" && after.dataCollection !== "deny";
  const keeps = ({ retention }: Approvals) => RETENTIONS.indexOf(retention ?? "unlimited");
  return list === "retention" && keeps(after) > keeps(before);
}

/**
 * Whether a provider that both sides have keeps more than before, trains, or is called without
 * encryption.
 */
function isLessPrivate({ base, head }: OfSides<RoutingTable>, id: string, member: string): boolean {
  const [before, after] = [base, head].map(({ providers }) => rowOf(providers, id));
  if (before === undefined || after === undefined) return false;
  if (member === "retention")
    return RETENTIONS.indexOf(after.retention) > RETENTIONS.indexOf(before.retention);
  if (member === "trains_on_data") return after.trainsOnData && !before.trainsOnData;
  // Whichever of the two keys changed: calls that were encrypted no longer are.
  return (
    (member === "plaintext" || member === "base_url") && isPlaintext(after) && !isPlaintext(before)
  );
}

/**
 * Whether a workload may get a token that it did not get, or one that may more. Where another
 * issuer or other keys sign, it is assumed: who has those keys is unknown here.
 */
function admitsMore({ base, head }: OfSides<RoutingTable>): boolean {
  const [before, after] = [base.workloadIdentity, head.workloadIdentity];
  return Object.values(after?.rules ?? {}).some((rule) => {
    const old = before?.rules[rule.id];
    if (old === undefined) return true;
    const [was, is] = [before?.issuers[old.issuedBy], after?.issuers[rule.issuedBy]];
    return canonicalJson(was ?? null) !== canonicalJson(is ?? null) || isWiderRule(old, rule);
  });
}

function isWiderRule(before: WorkloadRule, after: WorkloadRule): boolean {
  const same = ["audience", "workspace", "environment", "workload", "owner"] as const;
  return (
    same.some((name) => before[name] !== after[name]) ||
    // Policies may grant access by label.
    canonicalJson(before.labels) !== canonicalJson(after.labels) ||
    !coversClaims(before.claims, after.claims) ||
    after.lifetime > before.lifetime ||
    !isWithin(before.scopes, after.scopes) ||
    !isWithin(before.operations, after.operations) ||
    !isWithin(before.routes, after.routes)
  );
}

/** @param before `null`: everything. */
function isWithin(before: readonly string[] | null, after: readonly string[] | null) {
  return before === null || after?.every((name) => before.includes(name)) === true;
}

/**
 * Changes of head to the assertions that it is judged by.
 *
 * @param base and head: `null` where a side has no such file, or it cannot be read. @param renames
 * of base's rows: an assertion that follows a new name demands the same.
 */
export function changedAssertions(
  base: { readonly source: Source; readonly assertions: Assertions | null } | null,
  head: { readonly source: Source; readonly assertions: Assertions } | null,
  renames: readonly RowRename[] = [],
): readonly SettingChange[] {
  if (base === null || head === null || base.assertions === null) {
    const same = base !== null && base.source.text === head?.source.text;
    return same ? [] : [wholeFile(base?.source ?? null, head?.source ?? null)];
  }
  const names = newNames(renames);
  return [
    ...changedRows(base.assertions, head.assertions, names),
    ...changedCoverage(base.source, base.assertions, head.assertions, names),
  ];
}

function wholeFile(base: Source | null, head: Source | null): SettingChange {
  const digest = (source: Source | null) => source && textDigest(source.text);
  const side = head === null ? "base" : "head";
  const path = (head ?? base)?.path ?? "";
  return change(
    path,
    digest(base),
    digest(head),
    { file: path, line: 1, column: 1, side },
    base !== null,
  );
}

function changedRows(
  base: Assertions,
  head: Assertions,
  names: NewNames,
): readonly SettingChange[] {
  const [before, after] = [base, head].map(
    ({ assertions }) => new Map(assertions.map((one) => [one.id, one])),
  );
  const formerIds = renamedIds(base, head, names);
  const former = new Set(formerIds.values());
  const ids = [...new Set([...base.assertions, ...head.assertions].map(({ id }) => id))].toSorted();
  return ids.flatMap((id): readonly SettingChange[] => {
    const [was, is] = [before?.get(id), after?.get(id)];
    const path = `assertions.${id}`;
    const formerId = formerIds.get(id);
    if (former.has(id)) return [];
    if (formerId !== undefined && is !== undefined) {
      return [{ ...change(`${path}.id`, formerId, id, at(is, "head"), false), effect: "renamed" }];
    }
    if (is === undefined)
      return was === undefined ? [] : [change(path, textOf(was), null, at(was, "base"), true)];
    const location = at(is, "head");
    if (was === undefined) return [change(path, null, textOf(is), location, false)];
    const [old, now] = [membersOf(was), membersOf(is)];
    const following = renamedAssertion(was, names);
    const renamedMembers = membersOf(following);
    const loosened = loosenedMembers(following, is);
    return [...new Set([...Object.keys(old), ...Object.keys(now)])].flatMap(
      (name): readonly SettingChange[] => {
        const [left = null, right = null] = [old[name], now[name]];
        if (canonicalJson(left) === canonicalJson(right)) return [];
        const text = (value: JsonValue) => (value === null ? null : flowText(value));
        const item = change(
          `${path}.${name}`,
          text(left),
          text(right),
          location,
          loosened.has(name),
        );
        if (canonicalJson(renamedMembers[name] ?? null) === canonicalJson(right))
          return [{ ...item, effect: "renamed", gate: null }];
        return [name === "title" ? { ...item, effect: "description", gate: null } : item];
      },
    );
  });
}

/** New id → former id of assertions that have another id and demand the same. */
function renamedIds(
  base: Assertions,
  head: Assertions,
  names: NewNames,
): ReadonlyMap<string, string> {
  const has = (ids: Assertions, id: string) => ids.assertions.some((one) => one.id === id);
  const textWithout = (assertion: Assertion) =>
    canonicalJson({ ...assertion, id: null, location: null, title: null });
  const added = new Set(head.assertions.filter(({ id }) => !has(base, id)));
  return new Map(
    base.assertions.flatMap((was): readonly (readonly [string, string])[] => {
      if (has(head, was.id)) return [];
      const text = textWithout(renamedAssertion(was, names));
      const is = [...added].find((one) => textWithout(one) === text);
      if (is === undefined) return [];
      added.delete(is);
      return [[is.id, was.id]];
    }),
  );
}

function changedCoverage(
  source: Source,
  base: Assertions,
  head: Assertions,
  names: NewNames,
): readonly SettingChange[] {
  const [before, after] = [base, head].map(
    ({ coverage }) => new Map(coverage.gates.map((gate) => [gate.what, gate])),
  );
  const measures = [...new Set([...(before?.keys() ?? []), ...(after?.keys() ?? [])])].toSorted();
  const gates = measures.flatMap((what): readonly SettingChange[] => {
    const [was, is] = [before?.get(what), after?.get(what)];
    if (was?.required === is?.required) return [];
    const location =
      is === undefined ? (was === undefined ? null : at(was, "base")) : at(is, "head");
    const lowersGate = was !== undefined && (is === undefined || is.required < was.required);
    const [old = null, now = null] = [was, is].map((gate) => gate && `${gate.required} %`);
    return [change(`coverage.${what}`, old, now, location, lowersGate)];
  });
  const [old, now] = [base.coverage.except, head.coverage.except];
  if (canonicalJson(old) === canonicalJson(now)) return gates;
  const following = old.map((subject) => renamedSubject(subject, names));
  const widens = now.some((subject) => !following.includes(subject));
  const location = { file: source.path, line: 1, column: 1, side: "head" as const };
  return [...gates, change("coverage.except", flowText(old), flowText(now), location, widens)];
}

function change(
  path: string,
  before: string | null,
  after: string | null,
  location: SideLocation | null,
  isWeaker: boolean,
): SettingChange {
  return {
    path,
    before,
    after,
    location,
    effect: "assertion",
    gate: isWeaker ? "assertions" : null,
  };
}

function at(
  { location }: { readonly location: SourceLocation },
  side: SideLocation["side"],
): SideLocation {
  return { ...location, side };
}

type NewNames = ReturnType<typeof newNames>;

/** Without its name and location. */
function membersOf({ id: _id, location: _location, ...members }: Assertion): JsonObject {
  const plain = parseJson(canonicalJson(members));
  return isJsonObject(plain) ? plain : {};
}

function textOf(assertion: Assertion): string {
  const members = Object.entries(membersOf(assertion)).filter(([, member]) => member !== null);
  return flowText(Object.fromEntries(members));
}

/**
 * An assertion of base with the names that head has for the same rows: one that only follows a new
 * name demands the same.
 */
function renamedAssertion(assertion: Assertion, names: NewNames): Assertion {
  const copy = structuredClone(assertion);
  replaceNames(copy, "", names);
  return copy;
}

/** The same for subjects that coverage leaves out: `chat → gpt-5-eu`. */
function renamedSubject(subject: string, names: NewNames): string {
  const [route = "", endpoint] = subject.split(" → ");
  const parts = [
    names.get(`route ${route}`) ?? route,
    ...(endpoint === undefined ? [] : [names.get(`endpoint ${endpoint}`) ?? endpoint]),
  ];
  return parts.join(" → ");
}

/** Replaces names in place. @param key under which the object or list is found. */
function replaceNames(value: object, key: string, names: NewNames) {
  const members: readonly (readonly [string, unknown])[] = Object.entries(value);
  for (const [name, member] of members) {
    // The items of a list are found under the list's key.
    const memberKey = Array.isArray(value) ? key : name;
    if (typeof member === "object" && member !== null) replaceNames(member, memberKey, names);
    const kind = rowOf<RenamedKind>(ROW_KINDS, nameKind(memberKey) ?? "");
    const other =
      kind === undefined || typeof member !== "string" ? undefined : names.get(`${kind} ${member}`);
    if (other !== undefined) Reflect.set(value, name, other);
  }
}
