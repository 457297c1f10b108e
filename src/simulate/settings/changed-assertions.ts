import { createHash } from "node:crypto";
import type { Source } from "../../canon/diagnostic.ts";
import { canonicalJson, type JsonValue, parseJson } from "../../canon/json.ts";
import type { Assertions } from "../assertions/assertion.ts";
import { loosenedMembers } from "../assertions/strictness.ts";
import type { SettingChange } from "../report/report.ts";
import type { SideLocation, SourceLocation } from "../report/location.ts";
import { flowText } from "../causes/config-tree.ts";

/**
 * What head has changed of the assertions that it is judged by.
 *
 * @param base and head: `null` where a side has no such file, or it cannot be read.
 */
export function changedAssertions(
  base: { readonly source: Source; readonly assertions: Assertions | null } | null,
  head: { readonly source: Source; readonly assertions: Assertions } | null,
): readonly SettingChange[] {
  if (base === null || head === null || base.assertions === null) {
    const same = base !== null && base.source.text === head?.source.text;
    return same ? [] : [wholeFile(base?.source ?? null, head?.source ?? null)];
  }
  return [...changedRows(base.assertions, head.assertions), ...changedCoverage(base, head.assertions)];
}

function wholeFile(base: Source | null, head: Source | null): SettingChange {
  const digest = (source: Source | null): string | null =>
    source === null ? null : createHash("sha256").update(source.text).digest("hex").slice(0, 12);
  const side = head === null ? "base" : "head";
  const path = (head ?? base)?.path ?? "";
  return change(path, digest(base), digest(head), { file: path, line: 1, column: 1, side }, base !== null);
}

function changedRows(base: Assertions, head: Assertions): readonly SettingChange[] {
  const [before, after] = [base, head].map(({ assertions }) => new Map(assertions.map((one) => [one.id, one])));
  const ids = [...new Set([...base.assertions, ...head.assertions].map(({ id }) => id))].toSorted();
  return ids.flatMap((id): readonly SettingChange[] => {
    const [was, is] = [before?.get(id), after?.get(id)];
    const path = `assertions.${id}`;
    if (is === undefined) return was === undefined ? [] : [change(path, textOf(was), null, at(was, "base"), true)];
    const where = at(is, "head");
    if (was === undefined) return [change(path, null, textOf(is), where, false)];
    const [old, now] = [membersOf(was), membersOf(is)];
    const loosened = loosenedMembers(was, is);
    return [...new Set([...Object.keys(old), ...Object.keys(now)])].flatMap((name): readonly SettingChange[] => {
      const [left, right] = [valueAt(old, name), valueAt(now, name)];
      if (canonicalJson(left) === canonicalJson(right)) return [];
      const texts = [left, right].map((value) => (value === null ? null : flowText(value)));
      const item = change(`${path}.${name}`, texts[0] ?? null, texts[1] ?? null, where, loosened.has(name));
      return [name === "title" ? { ...item, effect: "description", gate: null } : item];
    });
  });
}

function changedCoverage(
  { assertions: base, source }: { readonly source: Source; readonly assertions: Assertions | null },
  head: Assertions,
): readonly SettingChange[] {
  if (base === null) return [];
  const [before, after] = [base, head].map(({ coverage }) => new Map(coverage.gates.map((gate) => [gate.what, gate])));
  const measures = [...new Set([...(before?.keys() ?? []), ...(after?.keys() ?? [])])].toSorted();
  const gates = measures.flatMap((what): readonly SettingChange[] => {
    const [was, is] = [before?.get(what), after?.get(what)];
    if (was?.required === is?.required) return [];
    const where = is === undefined ? (was === undefined ? null : at(was, "base")) : at(is, "head");
    const isLess = was !== undefined && (is === undefined || is.required < was.required);
    const texts = [was, is].map((gate) => (gate === undefined ? null : `${gate.required} %`));
    return [change(`coverage.${what}`, texts[0] ?? null, texts[1] ?? null, where, isLess)];
  });
  const [old, now] = [base.coverage.except, head.coverage.except];
  if (canonicalJson(old) === canonicalJson(now)) return gates;
  const isMore = now.some((subject) => !old.includes(subject));
  const where = { file: source.path, line: 1, column: 1, side: "head" as const };
  return [...gates, change("coverage.except", flowText(old), flowText(now), where, isMore)];
}

function change(
  path: string,
  before: string | null,
  after: string | null,
  where: SideLocation | null,
  isWeaker: boolean,
): SettingChange {
  return { path, before, after, where, effect: "assertion", gate: isWeaker ? "assertions" : null };
}

function at({ location }: { readonly location: SourceLocation }, side: SideLocation["side"]): SideLocation {
  return { ...location, side };
}

/** Without its name and location. */
function membersOf(value: object): Readonly<Record<string, JsonValue>> {
  const plain = parseJson(canonicalJson(value));
  if (plain === null || typeof plain !== "object" || Array.isArray(plain)) return {};
  const members = Object.entries(plain).filter(([name]) => name !== "id" && name !== "location");
  return Object.fromEntries(members.map(([name, member]) => [name, member ?? null]));
}

function valueAt(members: Readonly<Record<string, JsonValue>>, name: string): JsonValue {
  return Object.hasOwn(members, name) ? (members[name] ?? null) : null;
}

function textOf(value: object): string {
  const members = Object.entries(membersOf(value)).filter(([, member]) => member !== null);
  return flowText(Object.fromEntries(members));
}
