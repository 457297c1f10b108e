import type { ServiceError } from "../../src/canon/error.ts";
import type { ModelOperation } from "../../src/canon/operation.ts";
import type { EmbedRequest, ModerateRequest, RerankRequest } from "../../src/canon/unary.ts";
import type { Target, UnaryFormat } from "../../src/dialects/dialect.ts";
import { upstreamFor } from "../../src/dialects/exchange-plan.ts";

/** A request for each kind of work, in the format of an endpoint. */
export const PRINTERS: Readonly<Record<ModelOperation, (target: Target) => UnaryFormat>> = {
  generate: (target) => {
    const upstream = upstreamFor("generate", target.endpoint.dialect);
    const formatted = printed(target, upstream.format(GENERATE_REQUEST, target));
    return { ...formatted, path: (upstream.host?.(formatted, target) ?? formatted).path };
  },
  embed: (target) =>
    printed(
      target,
      upstreamFor("embed", target.endpoint.dialect).format(fullEmbedRequest(target), target),
    ),
  rerank: (target) =>
    printed(target, upstreamFor("rerank", target.endpoint.dialect).format(RERANK_REQUEST, target)),
  moderate: (target) =>
    printed(
      target,
      upstreamFor("moderate", target.endpoint.dialect).format(MODERATE_REQUEST, target),
    ),
};

function printed<Formatted extends UnaryFormat>(
  { endpoint: { id } }: Target,
  formatted: Formatted | ServiceError,
): Formatted {
  if ("code" in formatted) throw new Error(`${id}: ${formatted.message}`);
  return formatted;
}

/** All that a request which embeds can say to an endpoint. */
function fullEmbedRequest({ endpoint, model }: Target): EmbedRequest {
  const [shortest, ...longer] = model.dimensions;
  return {
    inputs: endpoint.batch.inputs === 1 ? ["one"] : ["one", "two"],
    isScalar: false,
    // As the surface does it: requests to a model of one length do not name it.
    dimensions: longer.length === 0 ? null : (shortest ?? null),
    encoding: "base64",
    purpose: endpoint.features.includes("input_purpose") ? "query" : null,
    mayTruncate: false,
    extras: {},
  };
}

const RERANK_REQUEST: RerankRequest = {
  query: "query",
  documents: ["one", "two"],
  topN: 1,
  maxTokensPerDocument: null,
  mayTruncate: false,
  priority: null,
  extras: {},
};

/** Two texts, which get a verdict each. */
export const MODERATE_REQUEST: ModerateRequest = {
  input: ["one", "two"],
  extras: {},
};

/** Requests nothing but text. */
const GENERATE_REQUEST = {
  purpose: "generate",
  turns: [{ role: "user", name: null, content: [{ kind: "text", text: "hello", cache: null }] }],
  tools: [],
  toolChoice: null,
  parallelToolCalls: null,
  format: null,
  maxOutputTokens: 100,
  temperature: null,
  topP: null,
  topK: null,
  frequencyPenalty: null,
  presencePenalty: null,
  logitBias: null,
  seed: null,
  stop: [],
  logprobs: null,
  reasoning: null,
  verbosity: null,
  hints: { serviceTier: null, promptCacheKey: null, promptCacheRetention: null },
  stream: false,
} as const;
