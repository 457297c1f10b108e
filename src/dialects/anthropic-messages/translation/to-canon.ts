import type { RequestEdits } from "../../../canon/decision.ts";
import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import type { GenerateRequest, OutputFormat, ReasoningRequest } from "../../../canon/generate/generate-request.ts";
import type { InferenceRequest } from "../../../canon/request.ts";
import type { UnknownFields } from "../../../canon/table.ts";
import type { CanonicalRequest } from "../../dialect.ts";
import { Ledger, Members } from "../../members.ts";
import { fieldsOf } from "../fields.ts";
import { EFFORTS } from "../surface/read-reasoning.ts";
import { budgetUnder } from "../thinking-budget.ts";
import { readTurns } from "./to-turns.ts";
import { readChoice, readTools } from "./to-tools.ts";

/** A body of either operation in canon. Members that only the protocol itself has do not get here: `parse` has asked for an endpoint of its own. */
export function messagesToCanon(
  request: InferenceRequest,
  mode: UnknownFields,
  edits: RequestEdits,
): CanonicalRequest | ServiceError {
  const ledger = new Ledger();
  const body = new Members(request.body, "", ledger);
  leaveOut(request, body, edits);
  const config = body.object("output_config");
  // Both spellings are read: where both stand they say the same.
  const olderFormat = readFormat(body, "output_format");
  const choice = readChoice(body);
  const counts = request.shape.operation === "messages.count_tokens";
  const asked = counts ? null : body.number("max_tokens");
  const cap = counts ? null : edits.maxOutputTokens;
  const limit = asked === null || cap === null ? (asked ?? cap) : Math.min(asked, cap);
  const canonical: GenerateRequest = {
    purpose: counts ? "count" : "generate",
    turns: readTurns(body),
    tools: readTools(body),
    toolChoice: choice.choice,
    parallelToolCalls: choice.parallel,
    format: readFormat(config, "format") ?? olderFormat,
    maxOutputTokens: limit,
    ...readSampling(request, body),
    frequencyPenalty: null,
    presencePenalty: null,
    logitBias: null,
    seed: null,
    logprobs: null,
    reasoning: readReasoning(body, config, asked, limit),
    verbosity: null,
    hints: { serviceTier: readServiceTier(request, body), promptCacheKey: null, promptCacheRetention: null },
    stream: request.shape.stream,
  };
  config?.close();
  body.close();
  const refused =
    ledger.result(mode) ?? (canonical.turns.every(({ role }) => role === "system") ? nothingAsked() : null);
  return refused ?? { request: canonical, stripped: [...ledger.stripped], losses: [...ledger.losses] };
}

/** System text alone is no conversation, and some protocols would answer it. */
function nothingAsked(): ServiceError {
  return invalidRequest("missing_field", "messages must hold something to answer", "messages");
}

/** Takes what does not travel: our own members, those that tell who the user is, those that a policy strips, and hints. */
function leaveOut(request: InferenceRequest, body: Members, edits: RequestEdits): void {
  const registry = fieldsOf(request.shape.operation);
  const stripFields: readonly string[] = edits.stripFields;
  for (const name in registry) {
    const facts = registry[name];
    if (facts?.class === "ours") body.take(name);
    if ((facts?.class === "identity" || stripFields.includes(name)) && body.take(name) !== undefined) {
      body.ledger.strip(name);
    }
  }
  body.drop(["cache_control"], "cache_mark_dropped");
  body.drop(["diagnostics", "context_management"], "hint_dropped");
  if ((body.take("speed") ?? "standard") !== "standard") body.ledger.lose("hint_dropped");
  body.take("model");
  // Refused where they hold anything, or of this protocol alone.
  for (const name of ["container", "thread", "fallbacks", "mcp_servers"]) {
    if (Object.hasOwn(registry, name)) body.take(name);
  }
}

function readSampling(
  request: InferenceRequest,
  body: Members,
): Pick<GenerateRequest, "temperature" | "topP" | "topK" | "stop"> {
  if (request.shape.operation === "messages.count_tokens")
    return { temperature: null, topP: null, topK: null, stop: [] };
  body.take("stream");
  const stop = body.list("stop_sequences").filter((text) => typeof text === "string");
  return { temperature: body.number("temperature"), topP: body.number("top_p"), topK: body.number("top_k"), stop };
}

function readFormat(members: Members | null, name: string): OutputFormat | null {
  const format = members?.object(name) ?? null;
  if (format === null) return null;
  format.take("type");
  const schema = format.whole("schema");
  format.close();
  return schema === null ? null : { kind: "json_schema", name: null, description: null, schema, strict: null };
}

/** `adaptive` with an effort is how the protocol asks for an effort: canon's effort alone says both. */
function readReasoning(
  body: Members,
  config: Members | null,
  askedLimit: number | null,
  limit: number | null,
): ReasoningRequest | null {
  const thinking = body.object("thinking");
  const effort = config?.word("effort", EFFORTS) ?? null;
  if (thinking === null && effort === null) return null;
  const type = thinking?.text("type") ?? null;
  const asked = thinking?.number("budget_tokens") ?? null;
  const display = thinking?.word("display", ["summarized", "omitted"]) ?? null;
  thinking?.close();
  if (type === "disabled") return { effort: "none", budget: null, adaptive: false, display: null };
  const budget = asked === null || limit === null ? asked : budgetUnder(asked, askedLimit, limit);
  return { effort: effort ?? "unspecified", budget, adaptive: type === "adaptive" && effort === null, display };
}

/** In canon tiers have the words of the protocol that has most of them. */
function readServiceTier(request: InferenceRequest, body: Members): string | null {
  if (request.shape.operation === "messages.count_tokens" || body.ledger.stripped.has("service_tier")) return null;
  const tier = body.text("service_tier");
  if (tier !== "standard_only") return tier;
  body.ledger.lose("service_tier_changed");
  return "default";
}
