import { isPersonId, type Identity } from "../../../canon/identity.ts";
import type { ServiceError } from "../../../canon/error.ts";
import { codedError } from "../../../canon/error-codes.ts";
import type { PolicyStatus } from "../../../lifecycle/lifecycle.ts";
import type { Actor } from "../../../lifecycle/records.ts";
import type { KeyManagement } from "../../../canon/credentials/service-key.ts";
import { storeUnavailable } from "./policy-error.ts";

/**
 * Keys between a key and its origin, at most. A key that rotates itself every day gets there in
 * nearly three years.
 */
export const LONGEST_WAY = 1_000;

/** What makers of keys at a terminal are called does not have this form; ids of keys do. */
const KEY_ID = /^[0-9A-Za-z]{12}$/;

/**
 * Who is responsible for a key. The way goes from each key to the one that made it over HTTP,
 * rotations included: the maker of a key sees its text, so its name is what the maker wrote. A key
 * that was rotated at a terminal comes from the one it replaces, and a key made there is its own
 * origin.
 *
 * A person who is signed in is their own origin, which no key can be: keys that they make over HTTP
 * are theirs. Their roles are their groups.
 *
 * Roles are the labels that all keys on the way have: a key cannot give a role that it does not
 * have to a key that it creates.
 */
export async function actorOf(
  identity: Pick<Identity, "keyId" | "workspace" | "person" | "labels">,
  requestId: string,
  keys: Pick<KeyManagement, "get">,
): Promise<Actor | ServiceError> {
  const { keyId, workspace, person } = identity;
  if (person != null) {
    const { issuer, subject, name } = person;
    const named = { issuer, subject, ...(name !== null && { name }) };
    return {
      keyId,
      workspace,
      origin: keyId,
      roles: [...identity.labels].toSorted(),
      requestId,
      person: named,
    };
  }
  let roles: ReadonlySet<string> | null = null;
  let id = keyId;
  for (let steps = 0; steps < LONGEST_WAY; steps += 1) {
    const key = await keys.get(id);
    if ("fault" in key) {
      if (key.fault !== "absent") return storeUnavailable();
      // A key that is gone still was one person; which labels it had is not known.
      return { keyId, workspace, origin: id, roles: [], requestId };
    }
    const labels: ReadonlySet<string> = new Set(key.labels);
    roles = roles === null ? labels : roles.intersection(labels);
    // What the key does, its maker does. Which groups they were in is not known here.
    if (isPersonId(key.createdBy))
      return { keyId, workspace, origin: key.createdBy, roles: [], requestId };
    const next: string | null = KEY_ID.test(key.createdBy) ? key.createdBy : key.rotatedFrom;
    if (next === null)
      return { keyId, workspace, origin: id, roles: [...roles].toSorted(), requestId };
    id = next;
  }
  // Any key on the way, taken for the origin, would make several people of one.
  return codedError(
    "origin_too_far",
    "The chain of keys that created this key is too long to identify its owner; create a key at the terminal (signalbox keys create).",
  );
}

/**
 * Public ids of revoked keys whose approvals of the candidate are still recorded: an approval of a
 * revoked key does not count. A key that has merely expired did speak.
 */
export async function revokedApprovers(
  status: PolicyStatus,
  keys: Pick<KeyManagement, "get"> | undefined,
): Promise<ReadonlySet<string> | ServiceError> {
  const revoked = new Set<string>();
  for (const { by } of status.approvals.get(status.candidate?.digest ?? "") ?? []) {
    if (isPersonId(by.keyId)) continue;
    const key = await keys?.get(by.keyId);
    if (key === undefined) return storeUnavailable();
    if ("fault" in key && key.fault !== "absent") return storeUnavailable();
    if ("fault" in key || key.status === "revoked") revoked.add(by.keyId);
  }
  return revoked;
}
