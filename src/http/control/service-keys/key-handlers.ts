import type { ServiceKey } from "../../../canon/credentials/service-key.ts";
import { invalidRequest, serviceError, type ServiceError } from "../../../canon/error.ts";
import { codedError } from "../../../canon/errors/coded-error.ts";
import type { Identity } from "../../../canon/identity.ts";
import type { JsonObject } from "../../../canon/json.ts";
import { asWord } from "../../../evidence/record.ts";
import type { ControlAnswer, ControlCall, ControlHandler } from "../control-call.ts";
import { describeKey } from "./key-json.ts";
import type { KeyFault, KeyManagement, PreparedKey } from "./key-management.ts";
import { pageOfKeys } from "./key-page.ts";
import { readNewKey, readRotation } from "./key-request.ts";

/** Answers with keys must not be cached: some contain a secret, all are out of date a moment later. */
const NO_STORE = ["cache-control", "no-store"] as const;

/** Keys of the caller's own workspace; those of others look like keys that do not exist. */
export const KEY_HANDLERS = {
  createKey: async (call) => {
    const { identity, keys, body } = parts(call);
    const { workspace } = body;
    if (workspace !== undefined && workspace !== identity.workspace) return noSuchWorkspace();
    const requested = readNewKey(body, identity.workspace, identity.keyId, Date.now());
    if ("code" in requested) return requested;
    const prepared = await keys.create(requested);
    if ("fault" in prepared) return faultError(prepared, body);
    return stored(call, prepared, body);
  },
  listKeys: async (call) => {
    const { identity, keys } = parts(call);
    const now = Date.now();
    const page = await pageOfKeys(keys, identity.workspace, call.url.searchParams, (key) => describeKey(key, now));
    return "fault" in page ? faultError(page) : withHeaders(page);
  },
  getKey: async (call) => {
    const key = await ownKey(call);
    return "code" in key ? key : { json: describeKey(key, Date.now()), headers: NO_STORE };
  },
  rotateKey: async (call) => {
    const { identity, keys, body } = parts(call);
    const key = await ownKey(call);
    if ("code" in key) return key;
    const requested = readRotation(body, identity.keyId, Date.now());
    if ("code" in requested) return requested;
    const prepared = await keys.rotate(key.id, requested);
    if ("fault" in prepared) return rotationError(call, prepared, body);
    return stored(call, prepared, body);
  },
  revokeKey: async (call) => {
    const { keys } = parts(call);
    const key = await ownKey(call);
    if ("code" in key) return key;
    const unrecorded = await call.recordChange({ what: "key_revoked", id: asWord(key.id) });
    if (unrecorded !== null) return unrecorded;
    const revoked = await keys.revoke(key.id);
    if ("fault" in revoked) return faultError(revoked);
    return { json: describeKey(revoked, Date.now()), headers: NO_STORE };
  },
} as const satisfies Record<string, ControlHandler>;

/** Recorded, then stored, then shown: no key may exist without a record of who made it. */
async function stored(call: ControlCall, prepared: PreparedKey, body: JsonObject): Promise<ControlAnswer> {
  const { text, key, previous, store } = prepared;
  const unrecorded = await call.recordChange({
    what: previous === null ? "key_created" : "key_rotated",
    id: asWord(key.id),
    ...(previous !== null && { replaces: asWord(previous.id) }),
  });
  if (unrecorded !== null) return unrecorded;
  const result = await store();
  if ("fault" in result) return rotationError(call, result, body);
  const now = Date.now();
  return {
    json: {
      ...describeKey(key, now),
      key: text,
      ...(result.previous !== null && { previous: describeKey(result.previous, now) }),
    },
    headers: NO_STORE,
  };
}

interface Parts {
  readonly identity: Identity;
  readonly keys: KeyManagement;
  readonly body: JsonObject;
}

function parts({ identity, runtime, body }: ControlCall): Parts {
  if (identity === null || runtime.keys === undefined) throw new Error("keys: a call without an identity or a store");
  return { identity, keys: runtime.keys, body: body?.value ?? {} };
}

/** The key that the path names, where it is one of the caller's workspace. */
async function ownKey(call: ControlCall): Promise<ServiceKey | ServiceError> {
  const { identity, keys } = parts(call);
  // A whole key in a path has been written to logs on its way; it names no key here.
  if (call.parameter === null || !/^[0-9A-Za-z]{1,64}$/.test(call.parameter)) return noSuchKey();
  const key = await keys.get(call.parameter);
  if ("fault" in key) return faultError(key);
  return key.workspace === identity.workspace ? key : noSuchKey();
}

function withHeaders(answer: { readonly json: JsonObject } | ServiceError): ControlAnswer {
  return "code" in answer ? answer : { ...answer, headers: NO_STORE };
}

function noSuchKey(): ServiceError {
  return serviceError(404, "not_found", "key_not_found", "The workspace has no key with this id.");
}

/** One answer for workspaces that exist and those that do not. */
function noSuchWorkspace(): ServiceError {
  return serviceError(
    404,
    "not_found",
    "workspace_not_found",
    "A key manages its own workspace only; leave workspace out.",
    { param: "workspace" },
  );
}

/** Where the key has been rotated already, the answer says how the key is now: who asks next finds the key that replaced it. */
async function rotationError(call: ControlCall, fault: KeyFault, body: JsonObject): Promise<ServiceError> {
  if (fault.fault !== "rotated") return faultError(fault, body);
  const key = await ownKey(call);
  return "code" in key ? key : { ...faultError(fault), facts: { service_key: describeKey(key, Date.now()) } };
}

function faultError(fault: KeyFault, body: JsonObject = {}): ServiceError {
  switch (fault.fault) {
    case "option": {
      const field = fieldOf(fault.field, body);
      return invalidRequest("invalid_value", `${field}: ${fault.fix}`, field);
    }
    case "absent":
      return noSuchKey();
    case "not_active":
      return invalidRequest("key_not_active", "The key is revoked or expired; create a new key instead.");
    case "rotated":
      return codedError(
        "key_already_rotated",
        "The key has been rotated already. Rotate the key that replaced it (`service_key.replaced_by`), or create a new key.",
      );
    case "too_many":
      return invalidRequest(
        "too_many_keys",
        "The workspace has reached its maximum number of valid keys; revoke unused ones, or let them expire.",
      );
    case "unavailable":
      return codedError(
        "store_unavailable",
        "The keys cannot be read or written now; the change may or may not have been made. List the keys before you try again.",
      );
  }
}

/** The member of the body that a field of the core came from. */
function fieldOf(field: string, body: JsonObject): string {
  if (field === "overlap") return "overlap_seconds";
  return field === "expires_at" && body["expires_in"] !== undefined ? "expires_in" : field;
}
