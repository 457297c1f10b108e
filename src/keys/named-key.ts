import { canonicalJson } from "../canon/json.ts";
import type { KeyGrants, KeyRecord, KeyStore } from "./key-store.ts";
import { publicIdFor } from "./key-text.ts";

/** How often a name can be deleted and given anew, and a key be rotated before reading it costs too much. */
const MOST_GENERATIONS = 100;
const MOST_ROTATIONS = 1_000;

interface NamedKey {
  /** The key that the name stands for, or last stood for, after those that rotations have replaced; none where the name was never given. */
  readonly line: readonly KeyRecord[];
  /** Id of the next key of the name; `null` where there have been too many. */
  readonly nextId: string | null;
}

/**
 * The key of a name. Keys are never deleted, so each new one of a name has the next number: `publicIdFor` makes an id of workspace, name and number,
 * and no two processes can make the same key.
 */
export async function findNamed(keys: Pick<KeyStore, "get">, workspace: string, name: string): Promise<NamedKey> {
  let found: KeyRecord | null = null;
  let number = 0;
  let nextId: string | null = idOf(workspace, name, number);
  while (nextId !== null) {
    const next = await keys.get(nextId);
    // Of another workspace: a collision of ids, which must not show one tenant's key to another.
    if (next?.workspace !== workspace) break;
    found = next;
    number += 1;
    nextId = number < MOST_GENERATIONS ? idOf(workspace, name, number) : null;
  }
  return { line: found === null ? [] : await withRotations(keys, found), nextId };
}

async function withRotations(keys: Pick<KeyStore, "get">, first: KeyRecord): Promise<readonly KeyRecord[]> {
  const line = [first];
  let { replacedBy } = first;
  while (replacedBy !== null && line.length < MOST_ROTATIONS) {
    const next = await keys.get(replacedBy);
    if (next === null) break;
    line.push(next);
    ({ replacedBy } = next);
  }
  return line;
}

function idOf(workspace: string, name: string, number: number): string {
  return publicIdFor(["named key", workspace, name, number]);
}

/** What a key keeps as long as it lives, by the name that bodies have for it. */
const KEPT = [
  ["environment", "environment"],
  ["exchange", "exchange"],
  ["expires_at", "expiresAt"],
] as const satisfies readonly (readonly [string, keyof KeyRecord])[];

const CHANGEABLE = ["scopes", "owner", "workload", "labels", "limits"] as const satisfies readonly (keyof KeyGrants)[];

/** The first thing that a key keeps and that is wanted otherwise; `null` where there is none. A rotation has given the key another expiry. */
export function differingField(key: KeyRecord, wanted: KeyRecord, isRotated: boolean): string | null {
  const differing = KEPT.find(
    ([, member]) =>
      !(isRotated && member === "expiresAt") && canonicalJson(key[member]) !== canonicalJson(wanted[member]),
  );
  return differing?.[0] ?? null;
}

/** The names of the grants in which a key is not what is wanted, and that can be changed. */
export function changedGrants(key: KeyGrants, wanted: KeyGrants): readonly (keyof KeyGrants)[] {
  return CHANGEABLE.filter((grant) => canonicalJson(key[grant]) !== canonicalJson(wanted[grant]));
}
