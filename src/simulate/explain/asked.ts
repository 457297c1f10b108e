import type { Identity } from "../../canon/identity.ts";
import { HOUR_BUCKETS, type PolicyTime } from "../../canon/policy.ts";
import type { Question } from "../../decide/decide.ts";
import type { SampleRequest } from "../sample-request.ts";

/** What `decide` is asked for a point. */
export interface Asked {
  readonly identity: Identity;
  readonly question: Question;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** The question that stands for a point, as a key with the point's words would ask it. */
export function askedOf(point: SampleRequest): Asked {
  const { environment, workload, labels } = point.key;
  return {
    identity: {
      workspace: point.workspace,
      keyId: "explained",
      scopes: new Set(["inference"]),
      environment,
      workload,
      labels,
      expiresAt: Number.MAX_SAFE_INTEGER,
    },
    question: {
      model: point.model,
      preferences: point.preferences,
      shape: {
        operation: point.operation,
        needs: point.needs,
        features: point.features,
        stream: point.stream,
        context: point.context,
        maxOutput: point.maxOutput,
        reasoningEffort: point.reasoningEffort,
        signatureFamilies: point.signatureFamilies,
        dimensions: point.dimensions,
      },
    },
    at: instantOf(point.time),
  };
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** An instant of a window, milliseconds since the epoch: 1 January 1970 was a Thursday, the 3rd a Saturday. */
export function instantOf({ day, hour }: PolicyTime): number {
  const bucket = (24 / HOUR_BUCKETS.length) * HOUR;
  return (day === "weekend" ? 2 * DAY : 0) + HOUR_BUCKETS.indexOf(hour) * bucket;
}
