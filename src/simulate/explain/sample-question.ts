import type { Identity } from "../../canon/identity.ts";
import { HOUR_BUCKETS, type PolicyTime } from "../../canon/policy.ts";
import type { Question } from "../../decide/decide.ts";
import type { SampleRequest } from "../sample-request.ts";

/** The arguments of `decide` for a sample. */
interface SampleQuestion {
  readonly identity: Identity;
  readonly question: Question;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** The question of a sample, with a key of the sample's attributes. */
export function sampleQuestionOf(sample: SampleRequest): SampleQuestion {
  const { environment, workload, owner, labels } = sample.key;
  return {
    identity: {
      workspace: sample.workspace,
      keyId: "explained",
      scopes: new Set(["inference"]),
      environment,
      workload,
      ...(owner !== undefined && { owner }),
      labels,
      expiresAt: Number.MAX_SAFE_INTEGER,
    },
    question: {
      model: sample.model,
      preferences: sample.preferences,
      budget: sample.budget ?? "unlimited",
      shape: {
        operation: sample.operation,
        needs: sample.needs,
        features: sample.features,
        stream: sample.stream,
        context: sample.context,
        maxOutput: sample.maxOutput,
        reasoningEffort: sample.reasoningEffort,
        signatureFamilies: sample.signatureFamilies,
        dimensions: sample.dimensions,
      },
    },
    at: instantOf(sample.time),
  };
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** An instant of a window, milliseconds since the epoch: 1 January 1970 was a Thursday, the 3rd a Saturday. */
export function instantOf({ day, hour }: PolicyTime): number {
  const bucket = (24 / HOUR_BUCKETS.length) * HOUR;
  return (day === "weekend" ? 2 * DAY : 0) + HOUR_BUCKETS.indexOf(hour) * bucket;
}
