import { type RenamedKind, type RowRename, newNames, ROW_KINDS } from "../renames/renamed-table.ts";
import { rowOf } from "../table-rows.ts";

/** What the names under a key of an assertion are names of. */
const KINDS: Readonly<Record<string, RenamedKind>> = {
  ...ROW_KINDS,
  workspace: "workspace",
  model: "route",
  order: "provider",
  only: "provider",
  ignore: "provider",
  plan: "endpoint",
  primary: "endpoint",
  contains: "endpoint",
  lacks: "endpoint",
  region: "region_group",
};

/** An assertion of base with the names that head has for the same rows: one that only follows a new name demands the same. */
export function renamedAssertion<Value extends object>(assertion: Value, renames: readonly RowRename[]): Value {
  const copy = structuredClone(assertion);
  if (renames.length > 0) rename(copy, "", newNames(renames));
  return copy;
}

/** The same for what coverage leaves out: `chat → gpt-5-eu`. */
export function renamedSubject(subject: string, renames: readonly RowRename[]): string {
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
    const own = Array.isArray(value) ? key : name;
    if (typeof member === "object" && member !== null) rename(member, own, names);
    const kind = rowOf(KINDS, own);
    const other = kind === undefined || typeof member !== "string" ? undefined : names.get(`${kind} ${member}`);
    if (other !== undefined) Reflect.set(value, name, other);
  }
}
