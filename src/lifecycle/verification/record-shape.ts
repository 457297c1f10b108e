import { canonicalJson, isJsonObject, type JsonObject, parseJson } from "../../canon/json.ts";
import { mapSettings } from "../../canon/promotion.ts";
import {
  RECORD_KINDS,
  ROLLBACK_REASONS,
  type ActingPerson,
  type Actor,
  type Approval,
  type ContentReference,
  type PolicyRecord,
  type ReportReference,
  type ShadowFigures,
} from "../records.ts";

type Check = (value: unknown) => boolean;

/** `satisfies` makes a member that is added to a record, and forgotten here, a compile error. */
type Shape<Value> = Readonly<Record<keyof Value, Check>>;

type RecordOf<Kind extends PolicyRecord["kind"]> = Extract<PolicyRecord, { readonly kind: Kind }>;

const isText: Check = (value) => typeof value === "string";
const isFlag: Check = (value) => typeof value === "boolean";
const isCount: Check = (value) => Number.isSafeInteger(value) && Number(value) >= 0;
const isRevision: Check = (value) => Number.isSafeInteger(value) && Number(value) >= 1;
const isDigest: Check = (value) => typeof value === "string" && /^[0-9a-f]{64}$/.test(value);
const isOneOf =
  (...values: readonly string[]): Check =>
  (value) =>
    typeof value === "string" && values.includes(value);
const isListOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every((item) => check(item));
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);
/** Own members only: what a prototype has is not in the text. More of them than we know are of a later version. */
const hasShape =
  (shape: Readonly<Record<string, Check>>): Check =>
  (value) =>
    isJsonObject(value) &&
    Object.entries(shape).every(([name, check]) => Object.hasOwn(value, name) && check(value[name]));

const isKnownActor = hasShape({
  keyId: isText,
  workspace: isText,
  origin: isText,
  roles: isListOf(isText),
  requestId: isText,
} satisfies Shape<Omit<Actor, "person">>);
const isPerson = hasShape({ issuer: isText, subject: isText } satisfies Shape<Omit<ActingPerson, "name">>);
const isTextOrAbsent: Check = (value) => value === undefined || isText(value);
/** Keys, and records of older versions, name no person. */
const isActor: Check = (value) =>
  isKnownActor(value) &&
  (!isJsonObject(value) ||
    !Object.hasOwn(value, "person") ||
    (isPerson(value["person"]) && isJsonObject(value["person"]) && isTextOrAbsent(value["person"]["name"])));

const isVerification: Check = (value) =>
  hasShape({ result: isOneOf("differs", "not_computed") })(value) ||
  hasShape({ result: isOneOf("verified"), enforced: orNull(isDigest) })(value);

const REPORT = {
  sha256: isDigest,
  tableRevision: isText,
  complete: isFlag,
  assertions: hasShape({ passed: isCount, failed: isCount, waived: isCount } satisfies Shape<
    ReportReference["assertions"]
  >),
} satisfies Shape<Omit<ReportReference, "verification">>;
/** Records of older versions have no verification. */
const isReport: Check = (value) =>
  hasShape(REPORT)(value) &&
  (!isJsonObject(value) || !Object.hasOwn(value, "verification") || isVerification(value["verification"]));

const isApproval = hasShape({ by: isActor, at: isCount, report: orNull(isReport) } satisfies Shape<Approval>);

const REFERENCE = {
  revision: isRevision,
  digest: isDigest,
  module: orNull(isDigest),
} satisfies Shape<ContentReference>;
const isReference = hasShape(REFERENCE);

const isRequirements = hasShape(
  mapSettings("own", {
    count: () => isCount,
    flag: () => isFlag,
    list: () => isListOf(isText),
    duration: () => isCount,
  }),
);

const isFigures = hasShape({
  since: isCount,
  judged: isCount,
  wouldDeny: isCount,
  newlyDenied: isCount,
  wouldNarrow: isCount,
  indeterminate: isCount,
} satisfies Shape<ShadowFigures>);

const COMMON = { kind: isText, policy: isText, at: isCount };
const NUMBERED = { ...COMMON, revision: isRevision, digest: isDigest };
const ACTED = { ...NUMBERED, by: isActor };

const SHAPES: { readonly [Kind in PolicyRecord["kind"]]: Shape<RecordOf<Kind>> } = {
  imported: { ...NUMBERED, mode: isOneOf("shadow", "enforce") },
  observed: {
    ...COMMON,
    ...REFERENCE,
    content: isOneOf("rules", "removal"),
    slot: isOneOf("enforced", "candidate"),
    tableRevision: isText,
  },
  returned: NUMBERED,
  approved: { ...ACTED, report: orNull(isReport) },
  approval_withdrawn: ACTED,
  candidate_withdrawn: ACTED,
  promoted: {
    ...COMMON,
    by: isActor,
    tableRevision: isText,
    from: orNull(isReference),
    to: isReference,
    approvals: isListOf(isApproval),
    requirements: isRequirements,
    shadow: orNull(isFigures),
  },
  rolled_back: {
    ...COMMON,
    by: isActor,
    tableRevision: isText,
    from: isReference,
    to: orNull(isReference),
    reason: isOneOf(...ROLLBACK_REASONS),
  },
  released: ACTED,
};

/**
 * The record in a row's text. It must be in its canonical form: a text with a member twice says one thing to one reader and another to the next.
 * Members that this version does not know are of a later one, and are passed over.
 */
export function readRecordText(text: string): PolicyRecord | "unreadable" | "unknown_kind" {
  const value = parseCanonical(text);
  if (typeof value?.["kind"] !== "string") return "unreadable";
  if (!isKind(value["kind"])) return "unknown_kind";
  return isRecord(value) ? value : "unreadable";
}

function isKind(value: string): value is PolicyRecord["kind"] {
  return RECORD_KINDS.some((kind) => kind === value);
}

function isRecord(value: JsonObject | PolicyRecord): value is PolicyRecord {
  return typeof value.kind === "string" && isKind(value.kind) && hasShape(SHAPES[value.kind])(value);
}

function parseCanonical(text: string): JsonObject | null {
  try {
    const value: unknown = parseJson(text);
    return isJsonObject(value) && canonicalJson(value) === text ? value : null;
  } catch {
    // No JSON, or nested deeper than can be walked.
    return null;
  }
}
