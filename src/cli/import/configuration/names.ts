import { looksLikeSecret } from "../../../compile/authored/literal-secrets.ts";

/** Names of `routes.yaml` that letters decide: of routes, models and endpoints. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,126}$/;
/** Ids of providers, workspaces, regions and labels. */
const ID = /^[a-z0-9][a-z0-9_-]{0,62}$/;

/** A text as a name: itself where it is one. Text that looks like a credential becomes `fallback`. */
export function asName(text: string, fallback: string): string {
  if (looksLikeSecret(text)) return fallback;
  if (NAME.test(text) && !isReserved(text)) return text;
  const spelt = text
    .replaceAll(/[^A-Za-z0-9._:/-]+/g, "-")
    .replace(/^[^A-Za-z0-9]+/, "")
    .slice(0, 120)
    .replace(/-+$/, "");
  return spelt === "" || isReserved(spelt) ? fallback : spelt;
}

/** A text as an id in lower case; `fallback` as for {@link asName}. */
export function asId(text: string, fallback: string): string {
  if (looksLikeSecret(text)) return fallback;
  if (ID.test(text) && !isReserved(text)) return text;
  const spelt = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]+/g, "-")
    .replace(/^[^a-z0-9]+/, "")
    .slice(0, 58)
    .replace(/-+$/, "");
  return spelt === "" || isReserved(spelt) ? fallback : spelt;
}

function isReserved(name: string): boolean {
  return Object.hasOwn(Object.prototype, name);
}

/** Gives each name once. */
export class NameSpace {
  readonly #taken = new Set<string>();

  /** The name, or the name with the first number that is free. */
  take(name: string): string {
    let free = name;
    for (let number = 2; this.#taken.has(free); number += 1) free = `${name}-${number}`;
    this.#taken.add(free);
    return free;
  }
}
