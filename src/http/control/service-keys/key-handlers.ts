import { describeKey, pageOfKeys, readNewKey, readRotation, statusOf } from "./key-page.ts";
import {
  KeyFaultError,
  undeclaredValue,
  type ExistingKey,
  type KeyFault,
  type KeyManagement,
  type NewKey,
  type PreparedKey,
  type ServiceKey,
} from "../../../canon/credentials/service-key.ts";
import { PLATFORM_SCOPE, type Identity } from "../../../canon/identity.ts";
import type { JsonObject } from "../../../canon/json.ts";
import { asIdentifier, type ChangeRecord } from "../../../evidence/record.ts";
import type {
  CREATE_KEY_SCHEMA,
  PUT_KEY_SCHEMA,
  ROTATE_KEY_SCHEMA,
} from "../../contract/key-schemas.ts";
import { badRequest, refusal, type RefusalError } from "../../refusal.ts";
import { callerOf, readWorkspaces } from "../query.ts";
import {
  bodyOf,
  type ControlAnswer,
  type ControlCall,
  type ControlHandler,
} from "../control-call.ts";

function noSuchKey() {
  return refusal("key_not_found", "The workspace has no key with this id.");
}

function faultError(fault: KeyFault, body: JsonObject): RefusalError {
  switch (fault.fault) {
    case "option": {
      const field = fieldOf(fault.field, body);
      return badRequest("invalid_value", `${field}: ${fault.fix}`, field);
    }
    case "differs":
      return refusal("key_differs", `${fault.field} ${fault.fix}.`, { param: fault.field });
    case "absent":
      return noSuchKey();
    case "not_active":
      return badRequest(
        "key_not_active",
        "The key is revoked or expired; create a new key instead.",
      );
    case "rotated":
      return alreadyRotated();
    case "too_many":
      return badRequest(
        "too_many_keys",
        "The workspace has reached its maximum number of valid keys; revoke unused ones, or let them expire.",
      );
    case "taken":
    case "unavailable":
      return refusal(
        "store_unavailable",
        "The keys cannot be read or written now; the change may or may not have been made. List the keys before you try again.",
      );
  }
}

/** @param key in its current state, where the next reader finds the key that replaced it. */
function alreadyRotated(key?: ServiceKey) {
  return refusal(
    "key_already_rotated",
    "The key has been rotated already. Rotate the key that replaced it (`service_key.replaced_by`), or create a new key.",
    key && { facts: { service_key: describeKey(key, Date.now()) } },
  );
}

/** The member of the body that a field of the core came from. */
function fieldOf(field: string, body: JsonObject): string {
  if (field === "overlap") return "overlap_seconds";
  return field === "expires_at" && body.expires_in !== undefined ? "expires_in" : field;
}

/** A call of a caller who is known, with its keys and its body. */
interface KeyCall extends ControlCall {
  readonly identity: Identity;
  readonly keys: KeyManagement;
  readonly members: JsonObject;
}

/** Answers faults of keys as errors of the API. */
function keyHandler(answer: (call: KeyCall) => Promise<ControlAnswer>): ControlHandler {
  return async (call) => {
    const members = call.body?.value ?? {};
    try {
      return await answer({ ...call, identity: callerOf(call), keys: call.runtime.keys, members });
    } catch (error) {
      throw error instanceof KeyFaultError ? faultError(error.fault, members) : error;
    }
  };
}

/**
 * Keys of the workspaces that the caller manages; those of others look like keys that do not exist.
 */
export const KEY_HANDLERS = {
  createKey: keyHandler(async (call) => {
    const { identity, keys } = call;
    const body = bodyOf<typeof CREATE_KEY_SCHEMA>(call);
    const workspace = managedWorkspace(call, body.workspace ?? identity.workspace);
    const requested = readNewKey(body, workspace, identity.keyId, Date.now());
    checkDeclared(call, requested);
    return stored(call, await keys.create(requested));
  }),
  listKeys: keyHandler((call) =>
    pageOfKeys(call.keys, listedWorkspaces(call), call.url.searchParams, Date.now()),
  ),
  retrieveKey: keyHandler(async (call) => shown(await managedKey(call))),
  rotateKey: keyHandler(async (call) => {
    const { identity, keys } = call;
    const { id } = await changeableKey(call);
    const body = bodyOf<typeof ROTATE_KEY_SCHEMA>(call);
    const requested = readRotation(body, identity.keyId, Date.now());
    try {
      return await stored(call, await keys.rotate(id, requested));
    } catch (error) {
      if (!isFault(error, "rotated")) throw error;
      throw alreadyRotated(await managedKey(call));
    }
  }),
  revokeKey: keyHandler(async (call) => shown(await revoke(call, await changeableKey(call)))),
  // Keys by a name of the caller's, for tools that declare their resources
  // (docs/keys.md#keys-by-name).
  putNamedKey: keyHandler(async (call) => {
    const { identity, keys } = call;
    const { workspace, name } = pathOf(call);
    if (!NAME.test(name)) throw badRequest("invalid_value", NAME_RULE, "name");
    const body = bodyOf<typeof PUT_KEY_SCHEMA>(call);
    const requested = readNewKey(body, workspace, identity.keyId, Date.now());
    checkDeclared(call, requested);
    const result = await keys.put(name, requested);
    if ("existing" in result) return changed(call, result);
    try {
      return await stored(call, result);
    } catch (error) {
      // Another request has made it meanwhile: then it is compared, and the answer has no secret.
      const again = isFault(error, "taken") ? await keys.put(name, requested) : null;
      if (again === null || !("existing" in again)) throw error;
      return changed(call, again);
    }
  }),
  retrieveNamedKey: keyHandler(async (call) => {
    const key = (await namedKeys(call)).at(-1);
    if (key === undefined || statusOf(key, Date.now()) === "revoked") throw noSuchKey();
    return shown(key);
  }),
  deleteNamedKey: keyHandler(async (call) => {
    const line = await namedKeys(call);
    let newest = line.at(-1);
    if (newest === undefined) throw noSuchKey();
    // A key that was rotated works until its overlap ends: the name is deleted with all of its
    // keys.
    for (const key of line.filter(
      (one) => statusOf(one, Date.now()) === "active" || one === newest,
    )) {
      if (key.status === "revoked") continue;
      const revoked = await revoke(call, key);
      if (revoked.id === newest.id) newest = revoked;
    }
    return shown(newest);
  }),
} as const satisfies Record<string, ControlHandler>;

function isFault(error: unknown, fault: KeyFault["fault"]) {
  return error instanceof KeyFaultError && error.fault.fault === fault;
}

/** Recorded, then done. */
async function revoke(call: KeyCall, key: ServiceKey): Promise<ServiceKey> {
  await call.recordChange({ what: "key_revoked", ...subject(call, key) });
  return call.keys.revoke(key.id);
}

/** The changed key; its workspace only where it is not that of the caller, which the record has. */
function subject(
  { identity }: KeyCall,
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
  call: KeyCall,
  { text, key, previous, store }: PreparedKey,
): Promise<ControlAnswer> {
  await call.recordChange({
    what: previous === null ? "key_created" : "key_rotated",
    ...subject(call, key),
    ...(previous !== null && { replaces: asIdentifier(previous.id) }),
  });
  const replaced = await store();
  const now = Date.now();
  return {
    json: {
      ...describeKey(key, now),
      key: text,
      ...(replaced !== null && { previous: describeKey(replaced, now) }),
    },
  };
}

/** The key that the path names, where the caller manages its workspace. */
async function managedKey({ identity, keys, parameter }: KeyCall): Promise<ServiceKey> {
  // A whole key in a path has been written to logs on its way; it names no key here.
  const key = /^[0-9A-Za-z]{1,64}$/.test(parameter) ? await keys.get(parameter) : null;
  if (key === null || !managesWorkspace(identity, key.workspace)) throw noSuchKey();
  return key;
}

/** The same where the caller may replace or end it. */
async function changeableKey(call: KeyCall): Promise<ServiceKey> {
  const key = await managedKey(call);
  checkAuthority(call, key);
  return key;
}

/** Keys with authority over all workspaces are changed by such keys only. @throws {RefusalError} */
function checkAuthority({ identity }: KeyCall, { scopes }: ServiceKey) {
  if (!scopes.includes(PLATFORM_SCOPE) || identity.scopes.has(PLATFORM_SCOPE)) return;
  throw refusal(
    "insufficient_scope",
    "The key has the scope platform:manage; a key with that scope can change it, or `signalbox keys` at a terminal.",
  );
}

/** Whose keys a list is of. */
function listedWorkspaces(call: KeyCall): readonly string[] {
  const workspace = call.url.searchParams.get("workspace");
  if (workspace === null) return readWorkspaces(call);
  if (call.url.searchParams.has("workspaces")) {
    throw badRequest("invalid_value", "Give workspace or workspaces, not both", "workspaces");
  }
  return [managedWorkspace(call, workspace)];
}

/**
 * The workspace that a request names, where the caller manages it and it exists. One error for
 * workspaces that exist and those that do not, unless the caller may manage all.
 */
function managedWorkspace({ identity, snapshot }: KeyCall, workspace: string): string {
  // A key of a workspace that has left the configuration still manages the keys there.
  const exists =
    workspace === identity.workspace || Object.hasOwn(snapshot.decider.table.workspaces, workspace);
  if (exists && managesWorkspace(identity, workspace)) return workspace;
  throw refusal(
    "workspace_not_found",
    identity.scopes.has(PLATFORM_SCOPE)
      ? "The configuration has no workspace of this name."
      : "A key manages its own workspace only; leave workspace out.",
    { param: "workspace" },
  );
}

/**
 * @throws {KeyFaultError} for an environment, workload, label or route that the configuration does
 * not declare.
 */
function checkDeclared({ snapshot }: KeyCall, key: NewKey) {
  const unknown = undeclaredValue(key, snapshot.decider.table);
  if (unknown !== null) throw new KeyFaultError({ fault: "option", ...unknown });
}

/** Recorded, then changed where it is not as wanted; the answer never has the text. */
async function changed(call: KeyCall, { existing, change }: ExistingKey): Promise<ControlAnswer> {
  if (change === null) return shown(existing);
  checkAuthority(call, existing);
  await call.recordChange({
    what: "key_changed",
    ...subject(call, existing),
    grants: change.grants.map(asIdentifier),
  });
  return shown(await change.store());
}

/** No underscore: no part of a credential is a name. */
const NAME = /^[a-z0-9][a-z0-9.-]{0,62}$/;

const NAME_RULE =
  "name: give 1 to 63 lower-case letters, digits, dots or dashes, beginning with a letter or digit; it is part of the path";

/** Workspace and name of the path, where the caller manages the workspace. */
function pathOf(call: KeyCall): { readonly workspace: string; readonly name: string } {
  const [workspace = "", name = ""] = call.parameters;
  return { workspace: managedWorkspace(call, workspace), name };
}

async function namedKeys(call: KeyCall): Promise<readonly ServiceKey[]> {
  const { workspace, name } = pathOf(call);
  return NAME.test(name) ? call.keys.findByName(workspace, name) : [];
}

function shown(key: ServiceKey): ControlAnswer {
  return { json: describeKey(key, Date.now()) };
}

/**
 * Whether the caller may see and manage keys of a workspace: of its own, or of all with
 * `platform:manage`.
 */
function managesWorkspace(
  caller: Pick<Identity, "workspace" | "scopes">,
  workspace: string,
): boolean {
  if (caller.scopes.has(PLATFORM_SCOPE)) return true;
  return caller.workspace === workspace && caller.scopes.has("operations:manage");
}
