import type { ServiceKey } from "../../../canon/credentials/service-key.ts";
import { mayChangeKey } from "../../../canon/credentials/key-authority.ts";
import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import { asIdentifier } from "../../../evidence/record.ts";
import type { PUT_KEY_SCHEMA } from "../../contract/key-schemas.ts";
import { bodyOf, type ControlAnswer, type ControlCall, type ControlHandler } from "../control-call.ts";
import { faultError, noSuchKey, notYours } from "./key-errors.ts";
import { elsewhere, managedWorkspace, parts, revoke, stored, undeclaredValueError } from "./key-handlers.ts";
import { describeKey, statusOf } from "./key-json.ts";
import type { ExistingKey } from "../../../canon/credentials/key-management.ts";
import { readNewKey } from "./key-request.ts";

/** No underscore: no part of a credential is a name. */
const NAME = /^[a-z0-9][a-z0-9.-]{0,62}$/;

/** Keys by a name of the caller's, for tools that declare what there is to be (docs/keys.md#keys-by-name). */
export const NAMED_KEY_HANDLERS = {
  putNamedKey: async (call) => {
    const path = pathOf(call);
    if ("code" in path) return path;
    if (!NAME.test(path.name)) return invalidRequest("invalid_value", NAME_RULE, "name");
    const { identity, keys, body } = parts(call);
    const requested = readNewKey(bodyOf<typeof PUT_KEY_SCHEMA>(call), path.workspace, identity.keyId, Date.now());
    if ("code" in requested) return requested;
    const unknown = undeclaredValueError(call, requested);
    if (unknown !== null) return unknown;
    const put = await keys.put(path.name, requested);
    if ("fault" in put) return faultError(put, body);
    if (!("existing" in put)) {
      const answer = await stored(call, put, body, { name: path.name });
      // Another request has made it meanwhile: then it is compared, and the answer has no secret.
      if (!("code" in answer) || (await liveKey(call, path)) === null) return answer;
      const again = await keys.put(path.name, requested);
      if ("fault" in again) return faultError(again, body);
      return "existing" in again ? changed(call, path, again) : answer;
    }
    return changed(call, path, put);
  },
  retrieveNamedKey: async (call) => {
    const path = pathOf(call);
    if ("code" in path) return path;
    const key = await newestKey(call, path);
    if ("code" in key) return key;
    return statusOf(key, Date.now()) === "revoked" ? noSuchKey() : shown(key, path.name);
  },
  deleteNamedKey: async (call) => {
    const path = pathOf(call);
    if ("code" in path) return path;
    const line = await lineOf(call, path);
    if ("code" in line) return line;
    let newest = line.at(-1);
    if (newest === undefined) return noSuchKey();
    // A key that was rotated works until its overlap ends: the name is deleted with all of its keys.
    for (const key of line.filter((one) => statusOf(one, Date.now()) === "active" || one === newest)) {
      if (key.status === "revoked") continue;
      const revoked = await revoke(call, key);
      if ("code" in revoked) return revoked;
      if (revoked.id === newest.id) newest = revoked;
    }
    return shown(newest, path.name);
  },
} as const satisfies Record<string, ControlHandler>;

/** Recorded, then changed where it is not as wanted; the answer never has the text. */
async function changed(
  call: ControlCall,
  { name }: NamedPath,
  { existing, change }: ExistingKey,
): Promise<ControlAnswer> {
  if (change === null) return shown(existing, name);
  const { identity, body } = parts(call);
  if (!mayChangeKey(identity, existing)) return notYours();
  const unrecorded = await call.recordChange({
    ...elsewhere(identity, existing.workspace),
    what: "key_changed",
    id: asIdentifier(existing.id),
    grants: change.grants.map(asIdentifier),
  });
  if (unrecorded !== null) return unrecorded;
  const key = await change.store();
  return "fault" in key ? faultError(key, body) : shown(key, name);
}

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

function shown(key: ServiceKey, name: string): ControlAnswer {
  return { json: { ...describeKey(key, Date.now()), name } };
}
