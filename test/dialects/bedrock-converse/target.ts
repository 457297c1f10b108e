import { BEDROCK_CONVERSE } from "../../../src/dialects/bedrock-converse/facts.ts";
import type { GenerateRequest } from "../../../src/canon/generate/generate-request.ts";
import type { InferenceEvent } from "../../../src/canon/generate/event.ts";
import type { JsonObject } from "../../../src/canon/json.ts";
import type { ModelRow, ProviderRow } from "../../../src/canon/table.ts";
import { endpointFeatures } from "../../../src/compile/resolve/endpoints.ts";
import { dialect } from "../../../src/dialects/bedrock-converse/dialect.ts";
import type { DialectFacts, Target } from "../../../src/dialects/dialect.ts";
import { endpoint, model, provider } from "../../support/table.ts";
import { encodeFrame } from "./wire.ts";

const { generate: converseUpstream } = dialect;

/** The protocol's facts. */
export const CONVERSE: DialectFacts = BEDROCK_CONVERSE;

/** A target that speaks the protocol; its model has everything that any model has. */
export function targetWith(
  modelRow: Partial<ModelRow> = {},
  providerRow: Partial<ProviderRow> = {},
): Target {
  const row = model("m", { signatureFamily: "family", accepts: CONVERSE.optional, ...modelRow });
  const source = provider("p", { dialect: "bedrock-converse", ...providerRow });
  const features = endpointFeatures(CONVERSE, row, source);
  return {
    endpoint: endpoint("a", {
      dialect: "bedrock-converse",
      upstreamModel: "eu.vendor.model-v1:0",
      capabilities: CONVERSE.expresses.toSorted(),
      features: features.translated,
      nativeFeatures: features.native,
    }),
    model: row,
    provider: source,
  };
}

export const text = (value: string) => ({ kind: "text", text: value, cache: null }) as const;

export const hello: GenerateRequest = {
  purpose: "generate",
  turns: [{ role: "user", name: null, content: [text("hello")] }],
  tools: [],
  toolChoice: null,
  parallelToolCalls: null,
  format: null,
  maxOutputTokens: null,
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
};

export const tool = (name: string) =>
  ({ name, description: null, parameters: null, strict: null, cache: null }) as const;

/** The request of an answer that may call tools. */
export const withTools: GenerateRequest = {
  ...hello,
  tools: [tool("look_up"), tool("send"), tool("f"), tool("g")],
};

/** One event, with one member, its type. */
export type Event = JsonObject;

export function frames(events: readonly Event[]): readonly Uint8Array[] {
  return events.map((event) => {
    const [[type, body] = ["", {}]] = Object.entries(event);
    return encodeFrame({ ":event-type": type, ":message-type": "event" }, body ?? {});
  });
}

/** What is reported of the pieces, and of their end. */
export function parseEvents(
  pieces: readonly Uint8Array[],
  request: GenerateRequest = withTools,
  target: Target = targetWith(),
): readonly InferenceEvent[] {
  const parser = converseUpstream.parseStream(request, target);
  return [...pieces.flatMap((piece) => parser.push(piece)), ...parser.endAnswer()];
}
