import { parseRevision } from "../../../canon/policy.ts";
import { isJsonObject, type JsonObject } from "../../../canon/json.ts";
import { objectOf, objectsOf, textOf } from "../../terminal/read-answer.ts";
import { KEY_NOT_ACCEPTED, type ServerAnswer } from "../../terminal/call-server.ts";
import { CommandError } from "../../terminal/command-io.ts";
import { missingTexts } from "./missing.ts";
import { parseMissing } from "./view.ts";

/** Nothing is broken, and nothing was done: something is missing, or another change was first. Exit code 3. */
export class NotNowError extends Error {
  override readonly name = "NotNowError";
}

/** The command as typed. */
interface RequestedChange {
  /** Policy id; `null` where it was about all. */
  readonly policy: string | null;
  readonly changes: boolean;
}

/** The meaning of an error answer for the user of the terminal, and what to do. */
export function refusal({ status, body }: ServerAnswer, requested: RequestedChange): CommandError | NotNowError {
  const error = objectOf(body, "error");
  const code = textOf(error, "code");
  const show = `signalbox policy show ${requested.policy ?? "ID"}`;
  switch (status) {
    case 401:
      return new CommandError(KEY_NOT_ACCEPTED);
    case 403:
      return new CommandError(forbidden(code, requested) ?? otherwise(status, code, error));
    case 404:
      return new CommandError(notFound(code, requested));
    case 409:
      return new NotNowError(conflict(code, error, requested.policy ?? "ID"));
    case 412:
      return new NotNowError(`${currentText(objectOf(error, "current"))}; nothing was done; read it again: ${show}`);
    case 429:
      return new CommandError("--server: too many calls with this key; wait a minute and try again");
    case 503:
      if (code === "policies_not_applied") {
        return new CommandError(
          "--server: the change is stored, but the server that answered could not load it yet and decides as before; it tries again, and GET /status shows when it has loaded it",
        );
      }
      if (code === "simulation_busy") {
        return new CommandError("--server: other simulations are waiting already; nothing was done; try again");
      }
      return new CommandError(
        requested.changes
          ? `--server: cannot write its policy log now; check the state, then try again: ${show}`
          : "--server: cannot read its policy log now; try again",
      );
    default:
      return new CommandError(otherwise(status, code, error));
  }
}

/** `null` for a reason that this command does not know. */
function forbidden(code: string, { changes }: RequestedChange): string | null {
  switch (code) {
    case "insufficient_scope":
      return changes
        ? "SIGNALBOX_KEY: the key may not change policies; make one with --scopes operations:manage"
        : "SIGNALBOX_KEY: the key may not read policies; make one with --scopes governance:read, or operations:manage to change them as well";
    case "not_managed_here":
      return "SIGNALBOX_KEY: the key's workspace may not change policies; take a key of one that policies.managed_by of routes.yaml names";
    case "origin_too_far":
      return "SIGNALBOX_KEY: the chain of keys that created the key is too long to identify its owner; create one at a terminal with signalbox keys create";
    default:
      return null;
  }
}

function notFound(code: string, { policy }: RequestedChange): string {
  if (code === "policy_not_found") return "ID: the server has no such policy; see: signalbox policy list";
  if (code === "content_not_found") {
    return `--digest: the server keeps no content of the policy that begins like this; see: signalbox policy history ${policy ?? "ID"}`;
  }
  return "--server: has no /v1/policies (404); it is not Signalbox, is older than this command, or its address has another path";
}

function conflict(code: string, error: JsonObject | null, policy: string): string {
  const missing = objectsOf(error, "missing").map(parseMissing);
  if (missing.length > 0) return `not yet: ${missingTexts(missing)}; nothing was done`;
  switch (code) {
    case "held":
      return `the content was rolled back and is held; release it first: signalbox policy release ${policy}`;
    case "no_candidate":
      return "there is no candidate; a server creates one when it reads changed files";
    case "nothing_to_roll_back_to":
      return (
        `there is nothing to roll back to; this lists the revisions that were enforced: signalbox policy history ${policy} ` +
        "(content that initial_mode enforced when it was first seen has no earlier one: promote a change or the removal)"
      );
    case "not_held":
      return "the content is neither held nor withdrawn, so there is nothing to release";
    case "content_not_kept":
      return "the content's bytes are not stored or cannot be loaded; restore the policy's files instead";
    case "not_approved":
      return "neither the key nor a key that it comes from has approved the content, so there is nothing to withdraw";
    case "nothing_to_simulate":
      return "the content is enforced already, so there is nothing to simulate";
    case "assertions_invalid":
      return "the assertions file of the server has errors, so it cannot simulate; signalbox check lists them";
    case "simulation_too_large":
      return "the simulation needs more time or memory than the server gives it";
    case "busy":
      return "too many changes of policies at the same time; nothing was done; try again";
    default:
      return otherwise(409, code, error);
  }
}

/** Which state a policy is in now, after another change. */
function currentText(current: JsonObject | null): string {
  if (current === null) return "the policy has changed meanwhile";
  const slot = (name: string): string => {
    const revision = current[name];
    return typeof revision === "string" && parseRevision(revision) !== null ? revision : "none";
  };
  return `the policy has changed since it was read: enforced is ${slot("enforced_revision")} now, candidate ${slot("candidate_revision")}`;
}

function otherwise(status: number, code: string, error: JsonObject | null): string {
  const message = isJsonObject(error) ? textOf(error, "message").slice(0, 500) : "";
  const said = [code.slice(0, 64), message].filter((part) => part !== "").join(": ");
  return `--server: answered with ${status}${said === "" ? "" : `, ${said}`}`;
}
