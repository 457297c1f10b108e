import { looksLikeSecret } from "../../../compile/authored/literal-secrets.ts";

/** Names of `routes.yaml` that letters decide: of routes, models and endpoints. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,126}$/;
/** Ids of providers, workspaces, regions and labels. */
const ID = /^[a-z0-9][a-z0-9_-]{0,62}$/;

/** A text as a name: itself where it is one. Text that looks like a credential becomes `fallback`. */
export function asName(text: string, fallback: string): string {
  return respelt(text, NAME, /[^A-Za-z0-9._:/-]+/g, 120) ?? fallback;
}

/** A text as an id in lower case; `fallback` as for {@link asName}. */
export function asId(text: string, fallback: string): string {
  return respelt(text, ID, /[^a-z0-9_]+/g, 58) ?? fallback;
}

/** `null` for what is no name, and for what looks like a credential. @param most characters, with room for a number behind them. */
function respelt(text: string, form: RegExp, others: RegExp, most: number): string | null {
  if (looksLikeSecret(text)) return null;
  if (form.test(text) && !isReserved(text)) return text;
  const spelt = (form === ID ? text.toLowerCase() : text)
    .replaceAll(others, "-")
    .replace(/^[^A-Za-z0-9]+/, "")
    .slice(0, most)
    .replace(/-+$/, "");
  return spelt === "" || isReserved(spelt) ? null : spelt;
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
