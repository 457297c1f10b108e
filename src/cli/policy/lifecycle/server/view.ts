import { parseRevision } from "../../../../canon/policy.ts";
import { isJsonObject, type JsonObject } from "../../../../canon/json.ts";
import { readTime } from "../../../../canon/time/rfc3339.ts";
import { objectOf, objectsOf, textOf, wordsOf } from "../../../explain/members.ts";
import { CommandError } from "../../../terminal/command-io.ts";

/** A content of a policy, as people name it. */
export interface Content {
  readonly revision: number;
  /** Lower-case hexadecimal SHA-256. */
  readonly digest: string;
}

export interface SlotView extends Content {
  /** `removal`: the policy is gone from the files, and its end waits for a promotion. */
  readonly content: "rules" | "removal";
  /** When it entered the slot, milliseconds since the epoch; `null` where the server does not say it in RFC 3339. */
  readonly since: number | null;
  readonly firstSeen: number | null;
  /** Rolled back and not released. */
  readonly held: boolean;
  readonly constraints: readonly JsonObject[];
  readonly obligations: readonly JsonObject[];
  readonly operations: readonly string[];
}

export interface ApprovalView {
  readonly by: ActorView;
  readonly at: number | null;
  readonly report: JsonObject | null;
}

export interface ActorView {
  readonly keyId: string;
  readonly workspace: string;
  readonly origin: string;
  readonly roles: readonly string[];
}

/** What a promotion requires of the policy. Durations in seconds. */
export interface RequirementsView {
  readonly approvals: number;
  readonly roles: readonly string[];
  readonly selfApproval: boolean;
  readonly soakSeconds: number;
  readonly decisions: number;
  readonly noIndeterminate: boolean;
  readonly report: boolean;
  readonly assertions: boolean;
}

/** What is missing of it. `have` and `need` are seconds for a soak, otherwise amounts. */
export interface Missing {
  readonly requirement: string;
  readonly have: number | null;
  readonly need: number | null;
  readonly roles: readonly string[];
  /** Approvals whose report is only claimed, or was verified for another promotion than this one. */
  readonly claimed: number;
  readonly outdated: number;
}

/** A policy as a server shows it. Its texts are safe for a terminal; `etag` is the server's own. */
export interface PolicyView {
  readonly id: string;
  readonly title: string;
  readonly owners: readonly string[];
  readonly state: string;
  readonly etag: string;
  readonly enforced: SlotView | null;
  readonly candidate: SlotView | null;
  readonly approvals: readonly ApprovalView[];
  readonly requirements: RequirementsView;
  readonly rollbackTo: Content | null;
  readonly canRollBack: boolean;
  readonly held: readonly Content[];
  readonly withdrawn: readonly Content[];
  readonly files: Content | null;
  readonly drift: readonly string[];
  /** `null`: there is no candidate, or the answer does not say it. */
  readonly missing: readonly Missing[] | null;
}

/**
 * Reads an answer once, so that nothing behind here has to doubt it. What an older server does not say is read as nothing.
 *
 * @throws {CommandError} for what is no policy.
 */
export function parseView(answer: JsonObject | null): PolicyView {
  const etag = answer?.["etag"];
  // It goes back in a header as it is.
  if (answer?.["object"] !== "policy" || typeof etag !== "string" || !/^"[\x21\x23-\x7e]{1,200}"$/.test(etag)) {
    throw notPolicies();
  }
  const missing = answer["missing"];
  return {
    id: textOf(answer, "id"),
    title: textOf(answer, "title"),
    owners: wordsOf(answer, "owners"),
    state: textOf(answer, "state"),
    etag,
    enforced: parseSlot(answer["enforced"]),
    candidate: parseSlot(answer["candidate"]),
    approvals: objectsOf(answer, "approvals").map(parseApproval),
    requirements: parseRequirements(objectOf(answer, "requirements")),
    rollbackTo: parseContent(answer["rollback_to"]),
    canRollBack: answer["can_roll_back"] === true,
    held: parseContents(answer, "held"),
    withdrawn: parseContents(answer, "withdrawn"),
    files: parseContent(answer["files"]),
    drift: wordsOf(answer, "drift"),
    missing: Array.isArray(missing) ? objectsOf(answer, "missing").map(parseMissing) : null,
  };
}

/** What a server says that has no policies to show. */
export function notPolicies(): CommandError {
  return new CommandError("--server: what answers there is not Signalbox: the answer is none about policies");
}

function parseSlot(value: unknown): SlotView | null {
  const content = parseContent(value);
  if (content === null || !isJsonObject(value)) return null;
  return {
    ...content,
    content: value["content"] === "removal" ? "removal" : "rules",
    since: timeOf(value, "since"),
    firstSeen: timeOf(value, "first_seen"),
    held: value["held"] === true,
    constraints: objectsOf(value, "constraints"),
    obligations: objectsOf(value, "obligations"),
    operations: wordsOf(value, "operations"),
  };
}

/** A revision with its digest. @throws {CommandError} for something without a number and a digest: it could not be named in a command. */
export function parseContent(value: unknown): Content | null {
  if (value === null || value === undefined) return null;
  const { revision: shown, digest } = isJsonObject(value) ? value : {};
  // Rows of the log have the number; every other answer has it as r4.
  const revision = typeof shown === "string" ? parseRevision(shown) : shown;
  if (typeof revision !== "number" || !Number.isSafeInteger(revision) || revision < 0) throw notPolicies();
  if (typeof digest !== "string" || !/^[0-9a-f]{64}$/.test(digest)) throw notPolicies();
  return { revision, digest };
}

function parseContents(answer: JsonObject, name: string): readonly Content[] {
  return objectsOf(answer, name).flatMap((one) => parseContent(one) ?? []);
}

function parseApproval(approval: JsonObject): ApprovalView {
  return {
    by: parseActor(objectOf(approval, "by")),
    at: timeOf(approval, "at"),
    report: objectOf(approval, "report"),
  };
}

function parseActor(by: JsonObject | null): ActorView {
  return {
    keyId: textOf(by, "key_id"),
    workspace: textOf(by, "workspace"),
    origin: textOf(by, "origin"),
    roles: wordsOf(by, "roles"),
  };
}

function parseRequirements(from: JsonObject | null): RequirementsView {
  return {
    approvals: numberOf(from, "approvals") ?? 0,
    roles: wordsOf(from, "roles"),
    selfApproval: from?.["self_approval"] === true,
    soakSeconds: numberOf(from, "soak_seconds") ?? 0,
    decisions: numberOf(from, "min_decisions") ?? 0,
    noIndeterminate: from?.["no_indeterminate"] === true,
    report: from?.["report"] === true,
    assertions: from?.["assertions"] === true,
  };
}

/** One entry of `missing`, of a policy or of a refusal. */
export function parseMissing(entry: JsonObject): Missing {
  return {
    requirement: textOf(entry, "requirement"),
    have: numberOf(entry, "have_seconds") ?? numberOf(entry, "have"),
    need: numberOf(entry, "need_seconds") ?? numberOf(entry, "need"),
    roles: wordsOf(entry, "roles"),
    claimed: numberOf(entry, "claimed") ?? 0,
    outdated: numberOf(entry, "outdated") ?? 0,
  };
}

/** A finite number; `null` for anything else. */
export function numberOf(object: JsonObject | null, name: string): number | null {
  const value = object?.[name];
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** Milliseconds since the epoch of an RFC 3339 text; `null` for anything else. */
export function timeOf(object: JsonObject | null, name: string): number | null {
  const value = object?.[name];
  return typeof value === "string" ? readTime(value) : null;
}
