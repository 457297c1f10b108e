import type { Source } from "../../canon/diagnostic.ts";
import { canonicalJson, isJsonObject, type JsonValue, parseJson } from "../../canon/json.ts";
import type { Assertion, Assertions } from "../assertions/assertion.ts";
import { nameKind } from "../assertions/check-names.ts";
import { loosenedMembers } from "../assertions/strictness.ts";
import { type RowRename, type RenamedKind, newNames, ROW_KINDS } from "../renamed-table.ts";
import type { SettingChange, SideLocation, SourceLocation } from "../report/report.ts";
import { flowText } from "../causes/config-tree.ts";
import { rowOf } from "../table-rows.ts";
import { textDigest } from "../text-digest.ts";

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
  return [
    ...changedRows(base.assertions, head.assertions, renames),
    ...changedCoverage(base, head.assertions, renames),
  ];
}

function wholeFile(base: Source | null, head: Source | null): SettingChange {
  const digest = (source: Source | null): string | null =>
    source === null ? null : textDigest(source.text);
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
  renames: readonly RowRename[],
): readonly SettingChange[] {
  const [before, after] = [base, head].map(
    ({ assertions }) => new Map(assertions.map((one) => [one.id, one])),
  );
  const formerIds = renamedIds(base, head, renames);
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
    const following = renamedAssertion(was, renames);
    const named = membersOf(following);
    const loosened = loosenedMembers(following, is);
    return [...new Set([...old.keys(), ...now.keys()])].flatMap(
      (name): readonly SettingChange[] => {
        const [left, right] = [old.get(name) ?? null, now.get(name) ?? null];
        if (canonicalJson(left) === canonicalJson(right)) return [];
        const texts = [left, right].map((value) => (value === null ? null : flowText(value)));
        const item = change(
          `${path}.${name}`,
          texts[0] ?? null,
          texts[1] ?? null,
          location,
          loosened.has(name),
        );
        if (canonicalJson(named.get(name) ?? null) === canonicalJson(right))
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
  renames: readonly RowRename[],
): ReadonlyMap<string, string> {
  const has = (ids: Assertions, id: string): boolean => ids.assertions.some((one) => one.id === id);
  const textWithout = (assertion: Assertion): string =>
    canonicalJson({ ...assertion, id: null, location: null, title: null });
  const added = new Set(head.assertions.filter(({ id }) => !has(base, id)));
  return new Map(
    base.assertions.flatMap((was): readonly (readonly [string, string])[] => {
      if (has(head, was.id)) return [];
      const text = textWithout(renamedAssertion(was, renames));
      const is = [...added].find((one) => textWithout(one) === text);
      if (is === undefined) return [];
      added.delete(is);
      return [[is.id, was.id]];
    }),
  );
}

function changedCoverage(
  { assertions: base, source }: { readonly source: Source; readonly assertions: Assertions | null },
  head: Assertions,
  renames: readonly RowRename[],
): readonly SettingChange[] {
  if (base === null) return [];
  const [before, after] = [base, head].map(
    ({ coverage }) => new Map(coverage.gates.map((gate) => [gate.what, gate])),
  );
  const measures = [...new Set([...(before?.keys() ?? []), ...(after?.keys() ?? [])])].toSorted();
  const gates = measures.flatMap((what): readonly SettingChange[] => {
    const [was, is] = [before?.get(what), after?.get(what)];
    if (was?.required === is?.required) return [];
    const location =
      is === undefined ? (was === undefined ? null : at(was, "base")) : at(is, "head");
    const isLess = was !== undefined && (is === undefined || is.required < was.required);
    const texts = [was, is].map((gate) => (gate === undefined ? null : `${gate.required} %`));
    return [change(`coverage.${what}`, texts[0] ?? null, texts[1] ?? null, location, isLess)];
  });
  const [old, now] = [base.coverage.except, head.coverage.except];
  if (canonicalJson(old) === canonicalJson(now)) return gates;
  const following = old.map((subject) => renamedSubject(subject, renames));
  const isMore = now.some((subject) => !following.includes(subject));
  const location = { file: source.path, line: 1, column: 1, side: "head" as const };
  return [...gates, change("coverage.except", flowText(old), flowText(now), location, isMore)];
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

/** Without its name and location. */
function membersOf(assertion: Assertion): ReadonlyMap<string, JsonValue> {
  const { id: _id, location: _location, ...members } = assertion;
  const plain = parseJson(canonicalJson(members));
  return new Map(
    Object.entries(isJsonObject(plain) ? plain : {}).map(([name, member]) => [
      name,
      member ?? null,
    ]),
  );
}

function textOf(assertion: Assertion): string {
  const members = [...membersOf(assertion)].filter(([, member]) => member !== null);
  return flowText(Object.fromEntries(members));
}

/**
 * An assertion of base with the names that head has for the same rows: one that only follows a new
 * name demands the same.
 */
function renamedAssertion<Value extends object>(
  assertion: Value,
  renames: readonly RowRename[],
): Value {
  const copy = structuredClone(assertion);
  if (renames.length > 0) rename(copy, "", newNames(renames));
  return copy;
}

/** The same for subjects that coverage leaves out: `chat → gpt-5-eu`. */
function renamedSubject(subject: string, renames: readonly RowRename[]): string {
  const names = newNames(renames);
  const [route = "", endpoint] = subject.split(" → ");
  const parts = [
    names.get(`route ${route}`) ?? route,
    ...(endpoint === undefined ? [] : [names.get(`endpoint ${endpoint}`) ?? endpoint]),
  ];
  return parts.join(" → ");
}

/** Replaces names in place. @param key under which the object or list is found. */
function rename(value: object, key: string, names: ReadonlyMap<string, string>): void {
  const members: readonly (readonly [string, unknown])[] = Object.entries(value);
  for (const [name, member] of members) {
    // The items of a list are found under the list's key.
    const memberKey = Array.isArray(value) ? key : name;
    if (typeof member === "object" && member !== null) rename(member, memberKey, names);
    const kind = rowOf<RenamedKind>(ROW_KINDS, nameKind(memberKey) ?? "");
    const other =
      kind === undefined || typeof member !== "string" ? undefined : names.get(`${kind} ${member}`);
    if (other !== undefined) Reflect.set(value, name, other);
  }
}
