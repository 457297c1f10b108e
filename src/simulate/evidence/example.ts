import { BUDGET_STEPS, type BudgetStep } from "../../canon/limits.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { isOperation, type Operation } from "../../canon/operation.ts";
import type { PolicyTime } from "../../canon/policy.ts";
import {
  REASONING_EFFORTS,
  TOKEN_BUCKETS,
  type ReasoningEffort,
  type TokenBucket,
} from "../../canon/request.ts";
import { timeWindow } from "../../decide/policy-input.ts";
import {
  isPreferencesRecord,
  readEvidenceSample,
  type UnsupportedDecision,
  parseRecord,
  isInstant,
} from "./evidence-sample.ts";
import {
  type PreferencesRecord,
  type ShadowRecord,
  asIdentifier,
  type Identifier,
} from "../../evidence/record.ts";
import { explainArguments, shellLine } from "../explain/explain-arguments.ts";

/**
 * Requests that are equal in every member of their evidence; a member is `null` where a record does
 * not have it.
 */
export interface ExampleClass {
  readonly workspace: Identifier | null;
  readonly route: Identifier | null;
  readonly operation: Operation | null;
  readonly environment: Identifier | null;
  readonly workload: Identifier | null;
  readonly owner: Identifier | null;
  /** Sorted. */
  readonly labels: readonly Identifier[];
  /** Sorted. */
  readonly needs: readonly Identifier[];
  /** Sorted. */
  readonly features: readonly Identifier[];
  readonly stream: boolean;
  readonly context: TokenBucket | null;
  readonly max_output: TokenBucket | null;
  readonly reasoning_effort: ReasoningEffort | null;
  /** Sorted. */
  readonly signature_families: readonly Identifier[];
  readonly dimensions: number | null;
  readonly preferences: PreferencesRecord | null;
  readonly time: Pick<PolicyTime, "day" | "hour">;
  /** `null`: none, or no policy read it. */
  readonly budget: BudgetStep | null;
}

/** One verdict of a revision in shadow about one recorded request. */
export interface ExampleVerdict {
  readonly constraint: Identifier;
  readonly reason: Identifier | null;
  readonly verdict: ShadowRecord["verdict"];
  /** `null` in older records, which do not distinguish the two. */
  readonly effect: "would_narrow" | "would_deny" | null;
  /** Whether promoting would have denied a request that was let through. */
  readonly newlyDenied: boolean;
}

/** A recorded request against which a revision gave a verdict. */
export interface ExampleRequest {
  readonly requestId: Identifier;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly class: ExampleClass;
  readonly verdicts: readonly ExampleVerdict[];
  readonly record: JsonObject;
}

/**
 * Reads the text of a decision's record. `null` where the revision gave no verdict against the
 * request, or this version cannot read the record.
 *
 * @param revision as records name it, such as `r3`.
 */
export function readExampleRequest(
  text: string,
  policy: string,
  revision: string,
): ExampleRequest | null {
  // Nearly all records are such, and most of the time would go into parsing them.
  if (text.includes('"wouldDeny":[]')) return null;
  const record = parseRecord(text);
  if (!isJsonObject(record)) return null;
  const { requestId, at, wouldDeny } = record;
  if (typeof requestId !== "string" || !isInstant(at) || !Array.isArray(wouldDeny)) return null;
  const verdicts = wouldDeny
    .filter((one) => isJsonObject(one) && one.policy === policy && one.revision === revision)
    .flatMap((one) => readVerdict(one, record.outcome === "route"));
  if (verdicts.length === 0) return null;
  return { requestId: asIdentifier(requestId), at, class: classOf(record, at), verdicts, record };
}

/** How to explain an example, or which part of it this version cannot express. */
export type ExampleExplanation =
  | { readonly explain: Identifier; readonly not_explained: null }
  | {
      readonly explain: null;
      readonly not_explained: UnsupportedDecision["unsupportedSetting"] | "operation";
    };

/**
 * The command line that decides the request again as if candidates were promoted, without the
 * program's name.
 */
export function explainExample(
  { record }: ExampleRequest,
  zones: readonly string[],
): ExampleExplanation {
  // A request that its limits refused was decided before, and can be decided again.
  const outcome = record.outcome === "refuse" ? "deny" : record.outcome;
  const sample = readEvidenceSample({ ...record, outcome }, zones);
  if (sample === null) return { explain: null, not_explained: "operation" };
  if ("unsupportedSetting" in sample)
    return { explain: null, not_explained: sample.unsupportedSetting };
  // Names of the configuration and enum values only: records hold no free text.
  const explain = asIdentifier(shellLine([...explainArguments(sample.sample), "--promoted"]));
  return { explain, not_explained: null };
}

function readVerdict(record: JsonValue, isAllowed: boolean): readonly ExampleVerdict[] {
  if (!isJsonObject(record)) return [];
  const { constraint, reason, verdict } = record;
  if (typeof constraint !== "string" || (verdict !== "fail" && verdict !== "indeterminate"))
    return [];
  const effect =
    record.effect === "would_deny" || record.effect === "would_narrow" ? record.effect : null;
  return [
    {
      constraint: asIdentifier(constraint),
      reason: readIdentifier(reason),
      verdict,
      effect,
      newlyDenied: effect === "would_deny" && isAllowed,
    },
  ];
}

function classOf(record: JsonObject, at: number): ExampleClass {
  const {
    workspace,
    route,
    operation,
    environment,
    needs,
    features,
    stream,
    context,
    maxOutput,
    reasoningEffort,
  } = record;
  const { dimensions, preferences } = record;
  return {
    workspace: readIdentifier(workspace),
    route: readIdentifier(route),
    operation: typeof operation === "string" && isOperation(operation) ? operation : null,
    environment: readIdentifier(environment),
    workload: readIdentifier(record.workload),
    owner: readIdentifier(record.owner),
    labels: readIdentifiers(record.labels),
    needs: readIdentifiers(needs),
    features: readIdentifiers(features),
    stream: stream === true,
    context: TOKEN_BUCKETS.find((bucket) => bucket === context) ?? null,
    max_output: TOKEN_BUCKETS.find((bucket) => bucket === maxOutput) ?? null,
    reasoning_effort: REASONING_EFFORTS.find((effort) => effort === reasoningEffort) ?? null,
    signature_families: readIdentifiers(record.signatureFamilies),
    dimensions: typeof dimensions === "number" ? dimensions : null,
    preferences: isPreferencesRecord(preferences) ? preferences : null,
    time: timeWindow(at),
    budget: BUDGET_STEPS.find((step) => step === record.budget) ?? null,
  };
}

/** The enum values and names of a record; they were checked when it was written. */
function readIdentifier(value: JsonValue | undefined): Identifier | null {
  return typeof value === "string" ? asIdentifier(value) : null;
}

function readIdentifiers(value: JsonValue | undefined): readonly Identifier[] {
  if (!Array.isArray(value)) return [];
  return value
    .filter((one): one is string => typeof one === "string")
    .toSorted()
    .map(asIdentifier);
}
