import { describeKey, pageOfKeys, readNewKey, readRotation, statusOf } from "./key-page.ts";
import {
  undeclaredValue,
  type ExistingKey,
  type KeyFault,
  type KeyManagement,
  type NewKey,
  type PreparedKey,
  type ServiceKey,
} from "../../../canon/credentials/service-key.ts";
import { codedError } from "../../../canon/error-codes.ts";
import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import { PLATFORM_SCOPE, type Identity } from "../../../canon/identity.ts";
import type { JsonObject } from "../../../canon/json.ts";
import { asIdentifier, type ChangeRecord } from "../../../evidence/record.ts";
import type {
  CREATE_KEY_SCHEMA,
  PUT_KEY_SCHEMA,
  ROTATE_KEY_SCHEMA,
} from "../../contract/key-schemas.ts";
import { readWorkspaces } from "../query.ts";
import {
  bodyOf,
  type ControlAnswer,
  type ControlCall,
  type ControlHandler,
} from "../control-call.ts";

function noSuchKey(): ServiceError {
  return codedError("key_not_found", "The workspace has no key with this id.");
}

/** One answer for workspaces that exist and those that do not, unless the caller may manage all. */
function noSuchWorkspace(managesAll: boolean): ServiceError {
  return codedError(
    "workspace_not_found",
    managesAll
      ? "The configuration has no workspace of this name."
      : "A key manages its own workspace only; leave workspace out.",
    { param: "workspace" },
  );
}

/** Keys with authority over all workspaces are changed by such keys only. */
function notYours(): ServiceError {
  const sentence =
    "The key has the scope platform:manage; a key with that scope can change it, or `signalbox keys` at a terminal.";
  return codedError("insufficient_scope", sentence);
}

function faultError(fault: KeyFault, body: JsonObject = {}): ServiceError {
  switch (fault.fault) {
    case "option": {
      const field = fieldOf(fault.field, body);
      return invalidRequest("invalid_value", `${field}: ${fault.fix}`, field);
    }
    case "differs":
      return { ...codedError("key_differs", `${fault.field} ${fault.fix}.`), param: fault.field };
    case "absent":
      return noSuchKey();
    case "not_active":
      return invalidRequest(
        "key_not_active",
        "The key is revoked or expired; create a new key instead.",
      );
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
    case "taken":
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
  return field === "expires_at" && body.expires_in !== undefined ? "expires_in" : field;
}

/**
 * Keys of the workspaces that the caller manages; those of others look like keys that do not exist.
 */
export const KEY_HANDLERS = {
  createKey: async (call) => {
    const { identity, keys, body } = parts(call);
    const wanted = bodyOf<typeof CREATE_KEY_SCHEMA>(call);
    const workspace = managedWorkspace(call, wanted.workspace ?? identity.workspace);
    if (typeof workspace !== "string") return workspace;
    const requested = readNewKey(wanted, workspace, identity.keyId, Date.now());
    if ("code" in requested) return requested;
    const unknown = undeclaredValueError(call, requested);
    if (unknown !== null) return unknown;
    const prepared = await keys.create(requested);
    if ("fault" in prepared) return faultError(prepared, body);
    return stored(call, prepared, body);
  },
  listKeys: async (call) => {
    const { keys } = parts(call);
    const workspaces = listedWorkspaces(call);
    if ("code" in workspaces) return workspaces;
    const page = await pageOfKeys(keys, workspaces, call.url.searchParams, Date.now());
    return "fault" in page ? faultError(page) : page;
  },
  retrieveKey: async (call) => {
    const key = await managedKey(call);
    return "code" in key ? key : shown(key);
  },
  rotateKey: async (call) => {
    const { identity, keys, body } = parts(call);
    const key = await managedKey(call);
    if ("code" in key) return key;
    if (!mayChangeKey(identity, key)) return notYours();
    const requested = readRotation(
      bodyOf<typeof ROTATE_KEY_SCHEMA>(call),
      identity.keyId,
      Date.now(),
    );
    if ("code" in requested) return requested;
    const prepared = await keys.rotate(key.id, requested);
    if ("fault" in prepared) return rotationError(call, prepared, body);
    return stored(call, prepared, body);
  },
  revokeKey: async (call) => {
    const { identity } = parts(call);
    const key = await managedKey(call);
    if ("code" in key) return key;
    if (!mayChangeKey(identity, key)) return notYours();
    const revoked = await revoke(call, key);
    return "code" in revoked ? revoked : shown(revoked);
  },
  // Keys by a name of the caller's, for tools that declare what there is to be
  // (docs/keys.md#keys-by-name).
  putNamedKey: async (call) => {
    const path = pathOf(call);
    if ("code" in path) return path;
    if (!NAME.test(path.name)) return invalidRequest("invalid_value", NAME_RULE, "name");
    const { identity, keys, body } = parts(call);
    const requested = readNewKey(
      bodyOf<typeof PUT_KEY_SCHEMA>(call),
      path.workspace,
      identity.keyId,
      Date.now(),
    );
    if ("code" in requested) return requested;
    const unknown = undeclaredValueError(call, requested);
    if (unknown !== null) return unknown;
    const put = await keys.put(path.name, requested);
    if ("fault" in put) return faultError(put, body);
    if (!("existing" in put)) {
      const answer = await stored(call, put, body);
      // Another request has made it meanwhile: then it is compared, and the answer has no secret.
      if (!("code" in answer) || (await liveKey(call, path)) === null) return answer;
      const again = await keys.put(path.name, requested);
      if ("fault" in again) return faultError(again, body);
      return "existing" in again ? changed(call, again) : answer;
    }
    return changed(call, put);
  },
  retrieveNamedKey: async (call) => {
    const path = pathOf(call);
    if ("code" in path) return path;
    const key = await newestKey(call, path);
    if ("code" in key) return key;
    return statusOf(key, Date.now()) === "revoked" ? noSuchKey() : shown(key);
  },
  deleteNamedKey: async (call) => {
    const path = pathOf(call);
    if ("code" in path) return path;
    const line = await lineOf(call, path);
    if ("code" in line) return line;
    let newest = line.at(-1);
    if (newest === undefined) return noSuchKey();
    // A key that was rotated works until its overlap ends: the name is deleted with all of its
    // keys.
    for (const key of line.filter(
      (one) => statusOf(one, Date.now()) === "active" || one === newest,
    )) {
      if (key.status === "revoked") continue;
      const revoked = await revoke(call, key);
      if ("code" in revoked) return revoked;
      if (revoked.id === newest.id) newest = revoked;
    }
    return shown(newest);
  },
} as const satisfies Record<string, ControlHandler>;

/** Recorded, then done. */
async function revoke(call: ControlCall, key: ServiceKey): Promise<ServiceKey | ServiceError> {
  const { identity, keys } = parts(call);
  const unrecorded = await call.recordChange({ what: "key_revoked", ...subject(identity, key) });
  if (unrecorded !== null) return unrecorded;
  const revoked = await keys.revoke(key.id);
  return "fault" in revoked ? faultError(revoked) : revoked;
}

/** The changed key; its workspace only where it is not that of the caller, which the record has. */
function subject(
  identity: Identity,
  { id, name, workspace }: ServiceKey,
): Pick<ChangeRecord, "id" | "name" | "workspace"> {
  return {
    id: asIdentifier(id),
    ...(name !== null && { name: asIdentifier(name) }),
    ...(workspace !== identity.workspace && { workspace: asIdentifier(workspace) }),
  };
}

/** Recorded, then stored, then shown: no key may exist without a record of who made it. */
async function stored(
  call: ControlCall,
  prepared: PreparedKey,
  body: JsonObject,
): Promise<ControlAnswer> {
  const { text, key, previous, store } = prepared;
  const { identity } = parts(call);
  const unrecorded = await call.recordChange({
    what: previous === null ? "key_created" : "key_rotated",
    ...subject(identity, key),
    ...(previous !== null && { replaces: asIdentifier(previous.id) }),
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
  };
}

interface Parts {
  readonly identity: Identity;
  readonly keys: KeyManagement;
  readonly body: JsonObject;
}

function parts({ identity, runtime, body }: ControlCall): Parts {
  if (identity === null) throw new Error("keys: a call without an identity");
  return { identity, keys: runtime.keys, body: body?.value ?? {} };
}

/** The key that the path names, where the caller manages its workspace. */
async function managedKey(call: ControlCall): Promise<ServiceKey | ServiceError> {
  const { identity, keys } = parts(call);
  // A whole key in a path has been written to logs on its way; it names no key here.
  if (call.parameter === null || !/^[0-9A-Za-z]{1,64}$/.test(call.parameter)) return noSuchKey();
  const key = await keys.get(call.parameter);
  if ("fault" in key) return faultError(key);
  return managesWorkspace(identity, key.workspace) ? key : noSuchKey();
}

/** Whose keys a list is of. */
function listedWorkspaces(call: ControlCall): readonly string[] | ServiceError {
  const named = call.url.searchParams.get("workspace");
  if (named === null) return readWorkspaces(call);
  if (call.url.searchParams.has("workspaces")) {
    return invalidRequest("invalid_value", "Give workspace or workspaces, not both", "workspaces");
  }
  const workspace = managedWorkspace(call, named);
  return typeof workspace === "string" ? [workspace] : workspace;
}

/** The workspace that a request names, where the caller manages it and it exists. */
function managedWorkspace(call: ControlCall, workspace: string): string | ServiceError {
  const { identity } = parts(call);
  const managesAll = identity.scopes.has(PLATFORM_SCOPE);
  const isManaged = managesWorkspace(identity, workspace);
  // Of a workspace that has left the configuration, its own key still manages what it has.
  const isKnown =
    workspace === identity.workspace ||
    Object.hasOwn(call.snapshot.decider.table.workspaces, workspace);
  return isManaged && isKnown ? workspace : noSuchWorkspace(managesAll);
}

/**
 * The 400 for an environment, workload, label or route that the configuration does not declare;
 * `null` where all are.
 */
function undeclaredValueError(call: ControlCall, key: NewKey): ServiceError | null {
  const unknown = undeclaredValue(key, call.snapshot.decider.table);
  return unknown === null ? null : faultError({ fault: "option", ...unknown }, parts(call).body);
}

/**
 * Where the key has been rotated already, the answer has the key's current state: the next reader
 * finds the key that replaced it.
 */
async function rotationError(
  call: ControlCall,
  fault: KeyFault,
  body: JsonObject,
): Promise<ServiceError> {
  if (fault.fault !== "rotated") return faultError(fault, body);
  const key = await managedKey(call);
  return "code" in key
    ? key
    : { ...faultError(fault), facts: { service_key: describeKey(key, Date.now()) } };
}

/** Recorded, then changed where it is not as wanted; the answer never has the text. */
async function changed(
  call: ControlCall,
  { existing, change }: ExistingKey,
): Promise<ControlAnswer> {
  if (change === null) return shown(existing);
  const { identity, body } = parts(call);
  if (!mayChangeKey(identity, existing)) return notYours();
  const unrecorded = await call.recordChange({
    what: "key_changed",
    ...subject(identity, existing),
    grants: change.grants.map(asIdentifier),
  });
  if (unrecorded !== null) return unrecorded;
  const key = await change.store();
  return "fault" in key ? faultError(key, body) : shown(key);
}

/** No underscore: no part of a credential is a name. */
const NAME = /^[a-z0-9][a-z0-9.-]{0,62}$/;

const NAME_RULE =
  "name: give 1 to 63 lower-case letters, digits, dots or dashes, beginning with a letter or digit; it is part of the path";

interface NamedPath {
  readonly workspace: string;
  readonly name: string;
}

/** Workspace and name of the path, where the caller manages the workspace. */
function pathOf(call: ControlCall): NamedPath | ServiceError {
  const [named = "", name = ""] = call.parameters;
  const workspace = managedWorkspace(call, named);
  return typeof workspace === "string" ? { workspace, name } : workspace;
}

async function lineOf(
  call: ControlCall,
  { workspace, name }: NamedPath,
): Promise<readonly ServiceKey[] | ServiceError> {
  if (!NAME.test(name)) return [];
  const line = await parts(call).keys.named(workspace, name);
  return "fault" in line ? faultError(line) : line;
}

async function newestKey(call: ControlCall, path: NamedPath): Promise<ServiceKey | ServiceError> {
  const line = await lineOf(call, path);
  return "code" in line ? line : (line.at(-1) ?? noSuchKey());
}

async function liveKey(call: ControlCall, path: NamedPath): Promise<ServiceKey | null> {
  const key = await newestKey(call, path);
  return "code" in key || statusOf(key, Date.now()) !== "active" ? null : key;
}

function shown(key: ServiceKey): ControlAnswer {
  return { json: describeKey(key, Date.now()) };
}

type Caller = Pick<Identity, "workspace" | "scopes">;

/**
 * Whether the caller may see and manage keys of a workspace: of its own, or of all with
 * `platform:manage`.
 */
function managesWorkspace(caller: Caller, workspace: string): boolean {
  if (caller.scopes.has(PLATFORM_SCOPE)) return true;
  return caller.workspace === workspace && caller.scopes.has("operations:manage");
}

/**
 * Whether the caller may replace or end a key: who manages one workspace must not get, or end,
 * authority over all.
 */
function mayChangeKey(caller: Caller, key: Pick<ServiceKey, "workspace" | "scopes">): boolean {
  if (!managesWorkspace(caller, key.workspace)) return false;
  return !key.scopes.includes(PLATFORM_SCOPE) || caller.scopes.has(PLATFORM_SCOPE);
}
