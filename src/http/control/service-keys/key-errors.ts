import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import { codedError } from "../../../canon/error-codes.ts";
import type { JsonObject } from "../../../canon/json.ts";
import type { KeyFault } from "../../../canon/credentials/service-key.ts";

export function noSuchKey(): ServiceError {
  return codedError("key_not_found", "The workspace has no key with this id.");
}

/** One answer for workspaces that exist and those that do not, unless the caller may manage all. */
export function noSuchWorkspace(managesAll: boolean): ServiceError {
  return codedError(
    "workspace_not_found",
    managesAll
      ? "The configuration has no workspace of this name."
      : "A key manages its own workspace only; leave workspace out.",
    { param: "workspace" },
  );
}

/** Keys with authority over all workspaces are changed by such keys only. */
export function notYours(): ServiceError {
  const sentence =
    "The key has the scope platform:manage; a key with that scope can change it, or `signalbox keys` at a terminal.";
  return codedError("insufficient_scope", sentence);
}

export function faultError(fault: KeyFault, body: JsonObject = {}): ServiceError {
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
  return field === "expires_at" && body["expires_in"] !== undefined ? "expires_in" : field;
}
