import { readFacts } from "../../evidence/chain.ts";
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { readsPath } from "../../policy/policy-set.ts";
import {
  asIdentifier,
  type Identifier,
  type PreferencesRecord,
  type ShadowRecord,
} from "../../evidence/record.ts";
import { BUDGET_STEPS } from "../../canon/limits.ts";
import { isOperation } from "../../canon/operation.ts";
import { REASONING_EFFORTS, TOKEN_BUCKETS } from "../../canon/request.ts";
import { timeWindow } from "../../decide/policy-input.ts";
import {
  isInstant,
  isPreferencesRecord,
  parseRecord,
  readEvidenceSample,
  type UnsupportedDecision,
} from "./evidence-sample.ts";
import { remembered } from "../remembered.ts";
import { explainArguments, shellLine } from "../explain/explain-arguments.ts";

/** The part of the evidence log that is searched for examples. */
export interface ExampleLog {
  readonly head: () => Promise<{ readonly position: number }>;
  /** Rows after a position, in order. */
  readonly log: (query: {
    readonly after: number;
    readonly limit: number;
  }) => Promise<readonly ExampleLogRow[]>;
}

export interface ExampleLogRow {
  readonly position: number;
  readonly kind: "decision" | "outcome";
  readonly record: string;
}

/** Recorded requests by class and verdict of a revision in shadow, and the searched part. */
export type FoundExamples = Awaited<ReturnType<typeof findExamples>>;

export interface ExampleQuestion {
  readonly policy: string;
  readonly revision: number;
  /** When the revision was first seen, milliseconds since the epoch. */
  readonly firstSeen: number;
  /** The time zones that policies name. */
  readonly zones: readonly string[];
  /** Paths of the input that the revision reads; default: all. */
  readonly reads?: readonly string[] | undefined;
  /** The one workspace whose requests are looked at; `null`: all. */
  readonly workspace: string | null;
  /** Most classes to return; those with the most newly denied requests come first. */
  readonly limit: number;
}

/** Bounds of a search for examples. */
interface ExampleBounds {
  /** Decisions of the log, of any workspace. */
  readonly decisions: number;
  /** Milliseconds, on a clock that only goes forward. */
  readonly time: number;
  readonly clock: () => number;
}

/**
 * A look reads two thousand rows at a time: some milliseconds of the store, in which it writes no
 * evidence.
 */
const PAGE = 2_000;

export const EXAMPLE_BOUNDS: ExampleBounds = {
  decisions: 10_000,
  time: 2_000,
  clock: () => performance.now(),
};

/**
 * A decision is written up to a minute after its request arrived, and replicas' clocks differ: this
 * long before the revision was first seen, no request can have been judged by it. Milliseconds.
 */
const MARGIN = 120_000;

/**
 * Finds requests with a verdict of a revision against them, from the newest row of the log
 * backwards. @throws {StoreUnavailableError}
 */
export async function findExamples(
  source: ExampleLog,
  question: ExampleQuestion,
  bounds: ExampleBounds = EXAMPLE_BOUNDS,
) {
  const { workspace, policy, revision, firstSeen } = question;
  const classes = new Map<string, FoundClass>();
  const until = bounds.clock() + bounds.time;
  let remaining = bounds.decisions;
  const isExhausted = () => remaining <= 0;
  let isCut = false;
  let decisions = 0;
  let oldest = Infinity;
  /** Gives the time of the newest decision, milliseconds since the epoch; `-Infinity` for none. */
  const search = (rows: readonly ExampleLogRow[]) => {
    let newest = -Infinity;
    for (const { kind, record } of rows.toReversed()) {
      const facts = kind === "decision" ? readFacts(record) : null;
      if (facts === null) continue;
      isCut = isExhausted();
      if (isCut) break;
      remaining -= 1;
      newest = Math.max(newest, facts.at);
      if (workspace !== null && facts.workspace !== workspace) continue;
      decisions += 1;
      oldest = Math.min(oldest, facts.at);
      const request = readExampleRequest(record, policy, `r${revision}`);
      if (request === null) continue;
      for (const verdict of request.verdicts) count(classes, request, verdict, question);
    }
    return newest;
  };
  let end = (await source.head()).position;
  let complete = end === 0;
  while (end > 0 && !complete && !isExhausted() && bounds.clock() < until) {
    const after = Math.max(0, end - PAGE);
    // Where rows were pruned meanwhile, the page begins later and ends beyond `end`.
    const found = await source.log({ after, limit: end - after });
    const rows = found.filter(({ position }) => position <= end);
    const newest = search(rows);
    const isWhole = rows[0]?.position === after + 1;
    const isOld = newest !== -Infinity && newest < firstSeen - MARGIN;
    complete = !isCut && (isOld || (isWhole && after === 0));
    // The rows before were pruned.
    if (!isWhole) break;
    end = after;
  }
  const examples = [...classes.values()]
    .toSorted(mostNewlyDeniedFirst)
    .slice(0, question.limit)
    .map(({ request, facts, requests, newlyDenied, first, last }) => ({
      ...facts,
      requests,
      /** How many of them were let through and would be denied. */
      newly_denied: newlyDenied,
      /** Of the oldest and the newest one that was found, RFC 3339. */
      first: instant(first),
      last: instant(last),
      /** Of the newest one. */
      request_id: request.requestId,
      class: request.class,
      ...explainExample(request, question.zones),
    }));
  return {
    examples,
    lookedAt: {
      /** Those of the visible workspaces. */
      decisions,
      /** When the oldest of them was made, RFC 3339; `null` for none. */
      since: decisions === 0 ? null : instant(oldest),
      /** Whether everything since the revision was first seen was searched. */
      complete,
    },
  };
}

interface FoundClass {
  readonly request: ExampleRequest;
  readonly facts: Omit<ExampleVerdict, "newlyDenied">;
  requests: number;
  newlyDenied: number;
  first: number;
  last: number;
}

function count(
  classes: Map<string, FoundClass>,
  request: ExampleRequest,
  verdict: ExampleVerdict,
  { reads }: ExampleQuestion,
) {
  const { newlyDenied, ...facts } = verdict;
  const key = canonicalJson([facts, readPart(request.class, reads)]);
  const { at } = request;
  const found = remembered(classes, key, () => {
    return { request, facts, requests: 0, newlyDenied: 0, first: at, last: at };
  });
  found.requests += 1;
  found.newlyDenied += Number(newlyDenied);
  found.first = Math.min(found.first, at);
  found.last = Math.max(found.last, at);
}

/** Where policies read members of a class; others by their names, of the key or of the request. */
const READ_AT: Readonly<Record<string, readonly string[]>> = {
  // Of the table's row, or in a verdict's candidates: they always count.
  workspace: ["input"],
  route: ["input"],
  operation: ["input"],
  preferences: ["allow_fallbacks", "data_collection", "zdr"].map((name) => `input.request.${name}`),
  time: ["input.time", "input.local_time"],
  budget: ["input.budget"],
};

/** Requests with an equal part get one row: they differ only in members that the policy ignores. */
function readPart(all: ExampleClass, reads: readonly string[] | undefined): object {
  const isRead = (path: string) =>
    reads === undefined || path === "input" || readsPath({ reads }, path);
  const members = Object.entries(all).filter(([name]) =>
    (READ_AT[name] ?? [`input.key.${name}`, `input.request.${name}`]).some(isRead),
  );
  return Object.fromEntries(members);
}

function mostNewlyDeniedFirst(left: FoundClass, right: FoundClass) {
  return (
    right.newlyDenied - left.newlyDenied || right.requests - left.requests || right.last - left.last
  );
}

function instant(at: number) {
  return asIdentifier(new Date(at).toISOString());
}

type ExampleClass = ReturnType<typeof classOf>;

/** One verdict of a revision in shadow about one recorded request. */
interface ExampleVerdict {
  readonly constraint: Identifier;
  readonly reason: Identifier | null;
  readonly verdict: ShadowRecord["verdict"];
  /** `null` in older records, which do not distinguish the two. */
  readonly effect: "would_narrow" | "would_deny" | null;
  /** Whether promoting would have denied a request that was let through. */
  readonly newlyDenied: boolean;
}

/** A recorded request against which a revision gave a verdict. */
type ExampleRequest = NonNullable<ReturnType<typeof readExampleRequest>>;

/**
 * Reads the text of a decision's record. `null` where the revision gave no verdict against the
 * request, or this version cannot read the record.
 *
 * @param revision as records name it, such as `r3`.
 */
export function readExampleRequest(text: string, policy: string, revision: string) {
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
type ExampleExplanation =
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

/**
 * Requests that are equal in every member of their evidence; a member is `null` where a record does
 * not have it. Lists are sorted.
 */
function classOf(record: JsonObject, at: number) {
  const { operation, dimensions } = record;
  const preferences: PreferencesRecord | null = isPreferencesRecord(record.preferences)
    ? record.preferences
    : null;
  const { day, hour } = timeWindow(at);
  return {
    workspace: readIdentifier(record.workspace),
    route: readIdentifier(record.route),
    operation: typeof operation === "string" && isOperation(operation) ? operation : null,
    environment: readIdentifier(record.environment),
    workload: readIdentifier(record.workload),
    owner: readIdentifier(record.owner),
    labels: readIdentifiers(record.labels),
    needs: readIdentifiers(record.needs),
    features: readIdentifiers(record.features),
    stream: record.stream === true,
    context: valueIn(TOKEN_BUCKETS, record.context),
    max_output: valueIn(TOKEN_BUCKETS, record.maxOutput),
    reasoning_effort: valueIn(REASONING_EFFORTS, record.reasoningEffort),
    signature_families: readIdentifiers(record.signatureFamilies),
    dimensions: typeof dimensions === "number" ? dimensions : null,
    preferences,
    time: { day, hour },
    /** `null`: none, or no policy read it. */
    budget: valueIn(BUDGET_STEPS, record.budget),
  };
}

function valueIn<Value extends string>(values: readonly Value[], stored: JsonValue | undefined) {
  return values.find((value) => value === stored) ?? null;
}

/** The enum values and names of a record; they were checked when it was written. */
function readIdentifier(value: JsonValue | undefined) {
  return typeof value === "string" ? asIdentifier(value) : null;
}

function readIdentifiers(value: JsonValue | undefined): readonly Identifier[] {
  if (!Array.isArray(value)) return [];
  return value
    .filter((one): one is string => typeof one === "string")
    .toSorted()
    .map(asIdentifier);
}
