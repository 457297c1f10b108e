import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../canon/json.ts";
import { RECORD_KINDS, type PolicyRecord } from "./records.ts";

type Check = (value: JsonValue | undefined) => boolean;

const isDigest: Check = (value) => typeof value === "string" && /^[0-9a-f]{64}$/.test(value);
const isRevision: Check = (value) => typeof value === "number" && Number.isSafeInteger(value) && value >= 1;
const isTime: Check = (value) => typeof value === "number" && Number.isFinite(value);
const isText: Check = (value) => typeof value === "string";
const isOneOf =
  (...values: readonly string[]): Check =>
  (value) =>
    values.some((one) => one === value);
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);
const isList =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every((item) => check(item));
const isObject =
  (members: Readonly<Record<string, Check>>): Check =>
  (value) =>
    isJsonObject(value) && hasMembers(value, members);

const CONTENT = { revision: isRevision, digest: isDigest } as const;
const REFERENCE = { ...CONTENT, module: orNull(isDigest) } as const;
const KNOWN_ACTOR = isObject({
  keyId: isText,
  workspace: isText,
  origin: isText,
  roles: isList(isText),
  requestId: isText,
});
const PERSON = isObject({ issuer: isText, subject: isText });
/** Keys, and records of older versions, name no person. */
const ACTOR: Check = (value) =>
  KNOWN_ACTOR(value) && (!isJsonObject(value) || value["person"] === undefined || PERSON(value["person"]));
const REPORT = isObject({
  sha256: isDigest,
  tableRevision: isText,
  complete: (value) => typeof value === "boolean",
  assertions: isJsonObject,
});
const APPROVAL = isObject({ by: ACTOR, at: isTime, report: orNull(REPORT) });

/** What a row of each kind must have; it may have more, of a newer version's. */
const MEMBERS: Readonly<Record<PolicyRecord["kind"], Readonly<Record<string, Check>>>> = {
  imported: { ...CONTENT, mode: isOneOf("shadow", "enforce") },
  observed: {
    ...REFERENCE,
    content: isOneOf("rules", "removal"),
    slot: isOneOf("enforced", "candidate"),
    tableRevision: isText,
  },
  returned: CONTENT,
  approved: { ...CONTENT, by: ACTOR, report: orNull(REPORT) },
  approval_withdrawn: { ...CONTENT, by: ACTOR },
  candidate_withdrawn: { ...CONTENT, by: ACTOR },
  promoted: {
    by: ACTOR,
    tableRevision: isText,
    from: orNull(isObject(REFERENCE)),
    to: isObject(REFERENCE),
    approvals: isList(APPROVAL),
    requirements: isJsonObject,
    shadow: orNull(isJsonObject),
  },
  rolled_back: {
    by: ACTOR,
    tableRevision: isText,
    from: isObject(REFERENCE),
    to: orNull(isObject(REFERENCE)),
    reason: isText,
  },
  released: { ...CONTENT, by: ACTOR },
};

/** The record in the text of a row; `null` where it is none that this version knows. */
export function readPolicyRecord(text: string): PolicyRecord | null {
  const value = parse(text);
  return isPolicyRecord(value) ? value : null;
}

function isPolicyRecord(value: unknown): value is JsonObject & PolicyRecord {
  if (!isJsonObject(value)) return false;
  const kind = RECORD_KINDS.find((known) => known === value["kind"]);
  if (kind === undefined || !isText(value["policy"]) || !isTime(value["at"])) return false;
  return hasMembers(value, MEMBERS[kind]);
}

function hasMembers(value: JsonObject, members: Readonly<Record<string, Check>>): boolean {
  return Object.entries(members).every(([name, check]) => Object.hasOwn(value, name) && check(value[name]));
}

function parse(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return null;
  }
}
