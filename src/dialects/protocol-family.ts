import { decisionId } from "../canon/decision.ts";
import type { ErrorKind, ServiceError } from "../canon/error.ts";
import type { JsonObject } from "../canon/json.ts";
import { COUNT, TEXT, complete } from "../canon/json/schema.ts";

/** Error in the contract's document. */
type DocumentedError = Pick<ServiceError, "kind" | "code" | "message">;

/** Quantity in a limit header. */
export type LimitMeasure = "requests" | "tokens";

/** The limit of which least is left. */
interface RemainingLimit {
  readonly limit: number;
  readonly remaining: number;
  /** Milliseconds until it is whole again. */
  readonly untilReset: number;
  /** When that is, RFC 3339. */
  readonly resetAt: () => string;
}

/** A header as the contract describes it. */
export interface HeaderFacts {
  readonly name: string;
  readonly description: string;
  readonly schema: JsonObject;
}

/** How the clients of some protocols read errors and limits. */
export interface ProtocolFamily {
  /** The `type` for each kind of error. */
  readonly errorTypes: Readonly<Record<ErrorKind, string>>;
  /** The body of an error answer. */
  readonly renderError: (error: ServiceError, requestId: string) => string;
  /**
   * JSON Schema of that body, with a title.
   *
   * @param facts members that errors of our own endpoints add (`ServiceError.facts`).
   */
  readonly errorSchema: (facts: Readonly<Record<string, JsonObject>>) => JsonObject;
  /** Additional schema for one endpoint and status. */
  readonly narrowedError: (type: JsonObject, code: JsonObject) => JsonObject;
  /** An error of the contract's document. */
  readonly errorExample: (error: DocumentedError, requestId: string) => JsonObject;
  /**
   * Request headers of the vendor's SDKs that are never sent to a provider, and recorded: lower
   * case.
   */
  readonly unsentHeaders: readonly string[];
  /** Headers with the remainder of a limit: names and values alternate. */
  readonly limitHeaders: (measure: LimitMeasure, limit: RemainingLimit) => readonly string[];
  /** Those headers as the contract describes them. */
  readonly limitHeaderFacts: (measure: LimitMeasure) => readonly HeaderFacts[];
}

/** Members that name the denying policy; empty for other errors. */
export function denialMembers({ denial }: ServiceError, requestId: string): JsonObject {
  if (denial === null) return {};
  return {
    policy: {
      id: denial.policy,
      revision: denial.revision,
      mode: denial.mode,
      ...(denial.contact && { ...denial.contact }),
    },
    failed_constraint: denial.constraint,
    reason_code: denial.reason,
    decision_id: decisionId(requestId),
  };
}

/**
 * Limit headers of one family.
 *
 * @param nameOf name of the header for one part of a limit.
 * @param printReset value of the header for the reset.
 * @param reset how the contract describes that value.
 */
export function limitHeaders(
  nameOf: (measure: LimitMeasure, part: "limit" | "remaining" | "reset") => string,
  printReset: (limit: RemainingLimit) => string,
  reset: string,
): Pick<ProtocolFamily, "limitHeaders" | "limitHeaderFacts"> {
  const parts = [
    ["limit", "the most in its period.", COUNT],
    ["remaining", "what is left.", COUNT],
    ["reset", reset, TEXT],
  ] as const;
  return {
    limitHeaders: (measure, limit) => [
      nameOf(measure, "limit"),
      String(limit.limit),
      nameOf(measure, "remaining"),
      String(limit.remaining),
      nameOf(measure, "reset"),
      printReset(limit),
    ],
    limitHeaderFacts: (measure) =>
      parts.map(([part, text, schema]) => ({
        name: nameOf(measure, part),
        description: `Of the limit of ${measure} of which least is left: ${text}`,
        schema,
      })),
  };
}

/** Members of a denial, in both families. */
export const DENIAL = {
  policy: {
    ...complete(
      { id: TEXT, revision: TEXT, mode: { const: "enforce" } },
      "Which policy denied, of which revision (`r7`). `approvals` is the routing table, with the SHA-256 of the table as its revision.",
    ),
    properties: {
      id: TEXT,
      revision: TEXT,
      mode: { const: "enforce" },
      title: { ...TEXT, description: "Of the policy; absent for `approvals`." },
      owners: { type: "array", items: TEXT, description: "Whom to ask; absent for `approvals`." },
      link: { ...TEXT, description: "From `policies.denial_link` of routes.yaml, if it is set." },
    },
  },
  failed_constraint: TEXT,
  reason_code: TEXT,
  decision_id: TEXT,
} as const;

/** Our sentence. */
export const ERROR_MESSAGE = {
  ...TEXT,
  description: "One sentence for people. It never repeats a value of the request.",
} as const;

/** Arguments of the tool in examples. */
export const WEATHER = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
} as const;
