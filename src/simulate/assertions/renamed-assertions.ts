import type { RenamedKind, RowRename } from "../renames/renamed-table.ts";

/** What the names under a key of an assertion are names of. */
const KINDS: Readonly<Record<string, RenamedKind>> = {
  workspaces: "workspace",
  workspace: "workspace",
  routes: "route",
  model: "route",
  providers: "provider",
  order: "provider",
  only: "provider",
  ignore: "provider",
  models: "model",
  endpoints: "endpoint",
  plan: "endpoint",
  primary: "endpoint",
  contains: "endpoint",
  lacks: "endpoint",
  regions: "region_group",
  region: "region_group",
};

/** An assertion of base with the names that head has for the same rows: one that only follows a new name demands the same. */
export function renamedAssertion<Value extends object>(assertion: Value, renames: readonly RowRename[]): Value {
  const copy = structuredClone(assertion);
  if (renames.length > 0) rename(copy, "", namesOf(renames));
  return copy;
}

/** The same for what coverage leaves out: `chat → gpt-5-eu`. */
export function renamedSubject(subject: string, renames: readonly RowRename[]): string {
  const names = namesOf(renames);
  const [route = "", endpoint] = subject.split(" → ");
  const parts = [
    names.get(`route ${route}`) ?? route,
    ...(endpoint === undefined ? [] : [names.get(`endpoint ${endpoint}`) ?? endpoint]),
  ];
  return parts.join(" → ");
}

type NamesByKind = ReadonlyMap<string, string>;

function namesOf(renames: readonly RowRename[]): NamesByKind {
  return new Map(renames.map(({ kind, from, to }) => [`${kind} ${from}`, to]));
}

/** Replaces names in place. @param key under which the object or list is found. */
function rename(value: object, key: string, names: NamesByKind): void {
  const members: readonly (readonly [string, unknown])[] = Object.entries(value);
  for (const [name, member] of members) {
    // The items of a list are found under the list's key.
    const own = Array.isArray(value) ? key : name;
    if (typeof member === "object" && member !== null) rename(member, own, names);
    const kind = Object.hasOwn(KINDS, own) ? KINDS[own] : undefined;
    const other = kind === undefined || typeof member !== "string" ? undefined : names.get(`${kind} ${member}`);
    if (other !== undefined) Reflect.set(value, name, other);
  }
}
