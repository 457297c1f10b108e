import { endedAt, shares } from "../../evidence/answered-by.ts";
import type { Attributes, Meter } from "@opentelemetry/api";
import type { RequestObserver } from "../../evidence/observer.ts";
import { genAiOperation } from "./attributes.ts";

/** Bounds of the semantic conventions, seconds. */
const DURATIONS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];

/** The same of tokens. */
const TOKENS = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864];

/** What the provider calls the model of an endpoint; `null` for an endpoint that the table no longer has. */
export type ModelOf = (endpointId: string) => string | null;

/** The metrics of the GenAI semantic conventions for a client of providers, from the evidence. */
export function genAiMetrics(meter: Meter, modelOf: ModelOf): RequestObserver {
  const duration = meter.createHistogram("gen_ai.client.operation.duration", {
    unit: "s",
    description: "Duration of one call to a provider.",
    advice: { explicitBucketBoundaries: DURATIONS },
  });
  const usage = meter.createHistogram("gen_ai.client.token.usage", {
    unit: "{token}",
    description: "Tokens of a request, as the provider counted them.",
    advice: { explicitBucketBoundaries: TOKENS },
  });
  return {
    began: () => {},
    ended: (_, request) => {
      if (request === null) return;
      const { decision, outcome } = request;
      const operation = genAiOperation(decision.operation);
      const attributesOf = (endpoint: string, provider: string): Attributes => {
        const model = modelOf(endpoint);
        return {
          "gen_ai.operation.name": operation,
          "gen_ai.provider.name": provider,
          ...(model === null ? {} : { "gen_ai.request.model": model }),
        };
      };
      for (const { endpoint, provider, failure, duration: milliseconds } of outcome.attempts) {
        const error = failure === null ? {} : { "error.type": failure };
        duration.record(milliseconds / 1_000, { ...attributesOf(endpoint, provider), ...error });
      }
      const ended = endedAt(outcome);
      for (const [type, count] of [
        ["input", outcome.inputTokens],
        ["output", outcome.outputTokens],
      ] as const) {
        if (count === null) continue;
        for (const [index, share] of shares(count, ended).entries()) {
          const attempt = ended[index];
          if (attempt === undefined) continue;
          usage.record(share, { ...attributesOf(attempt.endpoint, attempt.provider), "gen_ai.token.type": type });
        }
      }
    },
  };
}
