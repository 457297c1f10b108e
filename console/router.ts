import { signal } from "@preact/signals";

/** Where the page is: the part of the address after `#/`. */
export interface Address {
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

export const address = signal<Address>(readAddress(location.hash));

/** Follows the browser's address from now on. */
export function followAddress(): void {
  addEventListener("hashchange", () => {
    address.value = readAddress(location.hash);
  });
}

/** @example readAddress("#/decisions/req_1?route=chat").path // ["decisions", "req_1"] */
export function readAddress(hash: string): Address {
  const [path = "", query = ""] = splitOnce(hash.replace(/^#\/?/, ""), "?");
  const parts = path.split("/").filter((part) => part !== "");
  return { path: parts.map(decoded), query: new URLSearchParams(query) };
}

/** The parameter that every address keeps: the workspace that is shown; without it, all. */
export const WORKSPACE = "workspace";

/** The address of a page of ours, for `href`; of the workspace that is shown. */
export function link(
  path: readonly string[],
  query: Readonly<Record<string, string | null>> = {},
): string {
  const shown = { [WORKSPACE]: address.value.query.get(WORKSPACE), ...query };
  const entries = Object.entries(shown).flatMap(([name, value]) =>
    value === null || value === "" ? [] : [[name, value]],
  );
  const search = entries.length === 0 ? "" : `?${new URLSearchParams(entries).toString()}`;
  return `#/${path.map(encodeURIComponent).join("/")}${search}`;
}

export function go(target: string): void {
  location.hash = target;
}

/** Changes the query in place, so that Back leaves the page and not each filter. */
export function replaceQuery(query: Readonly<Record<string, string | null>>): void {
  const target = link(address.value.path, query);
  history.replaceState(null, "", target);
  address.value = readAddress(target);
}

function splitOnce(text: string, separator: string): readonly string[] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
