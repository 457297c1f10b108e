import { GEMINI as FACTS_OF_GEMINI } from "../../../src/dialects/gemini/facts.ts";
import type {
  AssistantPart,
  GenerateRequest,
  ToolTurn,
  Turn,
  UserTurn,
} from "../../../src/canon/generate/generate-request.ts";
import type { JsonObject } from "../../../src/canon/json.ts";
import type { EndpointRow, ModelRow, ProviderRow } from "../../../src/canon/table.ts";
import { endpointFeatures } from "../../../src/compile/resolve/endpoints.ts";
import type { DialectFacts, Target } from "../../../src/dialects/dialect.ts";
import { dialect } from "../../../src/dialects/gemini/dialect.ts";
import { endpoint, model, provider } from "../../support/table.ts";

const { generate: geminiUpstream } = dialect;

/** What the dialect's row says. */
export const GEMINI: DialectFacts = FACTS_OF_GEMINI;

/**
 * A target that speaks the dialect; what its endpoint can do follows from the rows, as the compiler
 * does it.
 */
export function targetWith(
  modelRow: Partial<ModelRow> = {},
  providerRow: Partial<ProviderRow> = {},
  endpointRow: Partial<EndpointRow> = {},
): Target {
  const models = model("m", { signatureFamily: "gemini", ...modelRow });
  const providers = provider("p", { dialect: "gemini", ...providerRow });
  const { translated, native } = endpointFeatures(GEMINI, models, providers);
  return {
    endpoint: endpoint("a", {
      dialect: "gemini",
      upstreamModel: "gemini-x",
      capabilities: GEMINI.expresses.toSorted(),
      features: translated,
      nativeFeatures: native,
      ...endpointRow,
    }),
    model: models,
    provider: providers,
  };
}

export const text = (value: string) => ({ kind: "text", text: value, cache: null }) as const;
export const user = (...content: UserTurn["content"]): Turn => ({
  role: "user",
  name: null,
  content,
});
export const assistant = (...content: AssistantPart[]): Turn => ({
  role: "assistant",
  name: null,
  content,
});
export const call = (id: string, name = "f", json = "{}") =>
  ({ kind: "tool_call", id, name, arguments: json, cache: null }) as const;
export const signed = (signature: string | null, value = "") =>
  ({
    kind: "reasoning",
    text: value,
    summary: false,
    signature,
    family: signature === null ? null : "gemini",
  }) as const;
export const result = (callId: string, value = "ok"): ToolTurn["results"][number] => ({
  callId,
  content: [text(value)],
  isError: null,
  cache: null,
});
export const answered = (...results: ToolTurn["results"]): Turn => ({ role: "tool", results });

/** The smallest request. */
export const hello: GenerateRequest = {
  purpose: "generate",
  turns: [user(text("hello"))],
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

/** The request as it goes over the wire; `body` has been printed and parsed. */
export function format(more: Partial<GenerateRequest>, target: Target = targetWith()) {
  const formatted = geminiUpstream.format({ ...hello, ...more }, target);
  if ("code" in formatted) throw new Error(`${formatted.code} ${formatted.message}`);
  return { ...formatted, body: JSON.parse(JSON.stringify(formatted.body)) };
}

export const encoder = new TextEncoder();

/** One event of a stream, with the line ends that the provider writes. */
export function frame(piece: JsonObject): Uint8Array {
  return encoder.encode(`data: ${JSON.stringify(piece)}\r\n\r\n`);
}
