import { BUDGET_STEPS } from "../../canon/limits.ts";
import { isCapability, isFeature } from "../../canon/capability.ts";
import { isJsonObject, type JsonValue, parseJson } from "../../canon/json.ts";
import { isOperation } from "../../canon/operation.ts";
import { timeWindow } from "../../decide/policy-input.ts";
import { readScalars } from "../request-scalars.ts";
import type { SampleRequest } from "../sample-request.ts";
import { OUTSIDE_VOCABULARY } from "../space/universe.ts";
import { SORT_KEYS } from "../../canon/request.ts";
import type { PreferencesRecord } from "../../evidence/record.ts";

/** A decision of the evidence, as far as it can be decided again. */
export interface EvidenceSample {
  readonly sample: SampleRequest;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** How many decisions the record covers. */
  readonly decisions: number;
  /** The recorded decision. */
  readonly outcome: "route" | "deny";
  /** Endpoint ids, in the order that was decided. */
  readonly plan: readonly string[];
  readonly reason: string | null;
  /** Names its outcome; empty where the record has none. */
  readonly requestId: string;
}

/** Usage of a decision's answer, from its outcome's record. */
export type EvidenceUsage = NonNullable<ReturnType<typeof readEvidenceUsage>>;

/** @returns `null` for a record that is no outcome. */
export function readEvidenceUsage(record: JsonValue | undefined) {
  if (!isJsonObject(record)) return null;
  const { requestId, attempts } = record;
  if (typeof requestId !== "string") return null;
  const last = Array.isArray(attempts) ? attempts.at(-1) : undefined;
  const answeringEndpoint = isJsonObject(last) && last.failure === null ? last.endpoint : null;
  return {
    /** Names the decision. */
    requestId,
    /** The endpoint that answered; `null` where none did. */
    endpoint: typeof answeringEndpoint === "string" ? answeringEndpoint : null,
    /** `null` where the provider did not count. */
    inputTokens: tokens(record.inputTokens),
    outputTokens: tokens(record.outputTokens),
  };
}

function tokens(value: JsonValue | undefined) {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

/** A decision's record with a setting that this version does not support. */
export interface UnsupportedDecision {
  readonly unsupportedSetting: "route" | "need" | "feature" | "size" | "preference";
  readonly decisions: number;
  readonly at: number;
}

/**
 * Reads the record of a decision. Records that were written before version 0.2 lack preferences, a
 * key's workload and labels, the requested length of vectors and whose reasoning is signed: these
 * count as absent.
 *
 * @param zones whose local time the sample is to have: those that policies name.
 * @returns `null` for records of anything but inference, and of requests that were refused before
 * anything was decided.
 */
export function readEvidenceSample(
  record: JsonValue | undefined,
  zones: readonly string[] = [],
): EvidenceSample | UnsupportedDecision | null {
  if (!isJsonObject(record)) return null;
  const {
    operation,
    outcome,
    workspace,
    environment,
    route,
    at,
    plan,
    reason,
    repeated,
    requestId,
  } = record;
  if (typeof operation !== "string" || !isOperation(operation) || typeof workspace !== "string")
    return null;
  if ((outcome !== "route" && outcome !== "deny") || !isInstant(at)) return null;
  const decisions =
    typeof repeated === "number" && Number.isSafeInteger(repeated) && repeated > 0 ? repeated : 1;
  if (typeof route !== "string") return { unsupportedSetting: "route", decisions, at };
  const needs = strings(record.needs);
  const features = strings(record.features);
  if (!needs.every(isCapability)) return { unsupportedSetting: "need", decisions, at };
  if (!features.every(isFeature)) return { unsupportedSetting: "feature", decisions, at };
  const { preferences = null, workload, owner, dimensions } = record;
  if (preferences !== null && !isPreferencesRecord(preferences))
    return { unsupportedSetting: "preference", decisions, at };
  const budget = BUDGET_STEPS.find((step) => step === record.budget);
  const scalars = readScalars((member) => record[member]);
  if (scalars === null) return { unsupportedSetting: "size", decisions, at };
  return {
    sample: {
      workspace,
      model: route,
      operation,
      key: {
        environment: typeof environment === "string" ? environment : OUTSIDE_VOCABULARY,
        workload: typeof workload === "string" ? workload : "",
        ...(typeof owner === "string" && { owner }),
        labels: strings(record.labels).toSorted(),
      },
      needs: needs.filter(isCapability).toSorted(),
      features: features.filter(isFeature).toSorted(),
      signatureFamilies: strings(record.signatureFamilies),
      ...scalars,
      dimensions: typeof dimensions === "number" ? dimensions : null,
      preferences,
      time: timeWindow(at, zones),
      ...(budget !== undefined && { budget }),
    },
    at,
    decisions,
    outcome,
    plan: strings(plan),
    reason: typeof reason === "string" ? reason : null,
    requestId: typeof requestId === "string" ? requestId : "",
  };
}

/** A file may hold numbers that are no time: a date made of them would throw. */
export function isInstant(at: JsonValue | undefined): at is number {
  return typeof at === "number" && !Number.isNaN(new Date(at).getTime());
}

function strings(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value)
    ? value.filter((item): item is string => typeof item === "string")
    : [];
}

type Check = (value: JsonValue) => boolean;

const isNames: Check = (value) =>
  Array.isArray(value) && value.every((name) => typeof name === "string");

const isFlag: Check = (value) => typeof value === "boolean";

const MEMBERS: { readonly [Name in keyof Required<PreferencesRecord>]: Check } = {
  order: isNames,
  only: isNames,
  ignore: isNames,
  region: isNames,
  allow_fallbacks: isFlag,
  sort: (value) =>
    isJsonObject(value) &&
    Object.keys(value).length === 2 &&
    SORT_KEYS.some((key) => key === value.by) &&
    (value.partition === "model" || value.partition === "none"),
  max_price: (value) =>
    isJsonObject(value) &&
    Object.entries(value).every(
      ([name, price]) => ["input", "output", "request"].includes(name) && typeof price === "number",
    ),
  data_collection: (value) => value === "allow" || value === "deny",
  zdr: isFlag,
};

/**
 * Whether a stored value has the members above and no others: one that this version does not know
 * would be left out of the decision.
 */
export function isPreferencesRecord(
  value: JsonValue | undefined,
): value is JsonValue & PreferencesRecord {
  const members: Readonly<Record<string, Check>> = MEMBERS;
  return (
    isJsonObject(value) &&
    Object.entries(value).every(
      ([name, member]) =>
        Object.hasOwn(members, name) && member !== undefined && members[name]?.(member) === true,
    )
  );
}

/** `undefined` for text that is not JSON. */
export function parseRecord(text: string): JsonValue | undefined {
  try {
    const value: JsonValue = parseJson(text);
    return value;
  } catch {
    return undefined;
  }
}
