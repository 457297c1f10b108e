import type { RequestEdits } from "../../../canon/decision.ts";
import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import { FEATURES } from "../../../canon/generate/feature.ts";
import type { GenerateRequest, Hints, OutputFormat } from "../../../canon/generate/generate-request.ts";
import type { Tool, ToolChoice } from "../../../canon/generate/message.ts";
import type { JsonValue } from "../../../canon/json.ts";
import { REASONING_EFFORTS, type InferenceRequest } from "../../../canon/request.ts";
import type { UnknownFields } from "../../../canon/table.ts";
import type { CanonicalRequest } from "../../dialect.ts";
import { Ledger, Members } from "../../members.ts";
import { CHAT_FIELDS } from "../fields.ts";
import { readToolChoice } from "./ask-tools.ts";
import { messagesToTurns } from "./to-turns.ts";

/**
 * A chat completions body in canon. What only this protocol says has been noticed when the body was parsed (`native_chat`), so such a request
 * never gets here by way of a decision; if it does, it is refused by the member's name.
 */
export function chatToCanon(
  request: InferenceRequest,
  mode: UnknownFields,
  edits: RequestEdits,
): CanonicalRequest | ServiceError {
  const native = request.paths.get("native_chat");
  if (native !== undefined) {
    const sentence = `${native} uses ${FEATURES.native_chat}, and the request would go to an endpoint of another one`;
    return invalidRequest("feature_not_supported", sentence, native);
  }
  const ledger = new Ledger();
  const body = new Members(request.body, "", ledger);
  stripMembers(body, edits);
  const turns = messagesToTurns(body);
  const generate: GenerateRequest = {
    purpose: "generate",
    turns,
    ...toolsOf(body),
    format: formatOf(body),
    maxOutputTokens: limitOf(body, edits.maxOutputTokens),
    temperature: body.number("temperature"),
    topP: body.number("top_p"),
    topK: null,
    // 0 is what the protocol does without the member.
    frequencyPenalty: body.number("frequency_penalty") || null,
    presencePenalty: body.number("presence_penalty") || null,
    logitBias: biasOf(body),
    seed: body.number("seed"),
    stop: stopOf(body),
    logprobs: logprobsOf(body),
    reasoning: reasoningOf(body),
    verbosity: body.text("verbosity"),
    hints: hintsOf(body, edits),
    stream: body.flag("stream") === true,
  };
  takeStreamOptions(body);
  // Taken for what they are: the route's name, one choice of text, nothing stored.
  for (const name of ["model", "n", "modalities", "store", "functions"]) body.take(name);
  body.close();
  return (
    ledger.result(mode) ?? { request: generate, stripped: [...ledger.stripped], losses: [...ledger.losses].toSorted() }
  );
}

/** Whether the answer ends with its counts is the printer's business; padding against observers of a connection is not made. */
function takeStreamOptions(body: Members): void {
  const options = body.object("stream_options");
  if (options === null) return;
  options.take("include_usage");
  if (options.flag("include_obfuscation") === true) body.ledger.lose("hint_dropped");
  options.close();
}

/** Our own members, who the caller's user is, and what policies take out. */
function stripMembers(body: Members, edits: RequestEdits): void {
  for (const [name, facts] of Object.entries(CHAT_FIELDS)) {
    if (facts.class === "ours") body.take(name);
    else if (facts.class === "identity" || isStripped(name, edits)) strip(body, name);
  }
}

function isStripped(name: string, edits: RequestEdits): boolean {
  const stripFields: readonly string[] = edits.stripFields;
  return stripFields.includes(name);
}

function strip(body: Members, name: string): void {
  if (body.take(name) !== undefined) body.ledger.strip(name);
}

function toolsOf(body: Members): Pick<GenerateRequest, "tools" | "toolChoice" | "parallelToolCalls"> {
  const tools = body.objects("tools").flatMap((tool) => toolOf(tool) ?? []);
  return { tools, toolChoice: choiceOf(body, tools), parallelToolCalls: body.flag("parallel_tool_calls") };
}

function toolOf(tool: Members): Tool | null {
  tool.take("type");
  const definition = tool.object("function");
  tool.close();
  if (definition === null) return null;
  const made: Tool = {
    name: definition.text("name") ?? "",
    description: definition.text("description"),
    parameters: definition.whole("parameters"),
    strict: definition.flag("strict"),
    cache: null,
  };
  definition.close();
  return made;
}

function choiceOf(body: Members, tools: readonly Tool[]): ToolChoice | null {
  const choice = body.take("tool_choice");
  if (choice === undefined) return null;
  if (choice === "auto" || choice === "none") {
    if (tools.length > 0) return { mode: choice };
    // Without tools there is nothing to choose, and most protocols refuse the member.
    if (choice === "auto") body.ledger.lose("hint_dropped");
    return null;
  }
  const parsed = readToolChoice(choice);
  const [name] = parsed?.names ?? [];
  switch (parsed?.mode) {
    case "required":
      return { mode: "required" };
    case "named":
      return { mode: "named", name: name ?? "" };
    case "allowed":
      return { mode: "allowed", names: parsed.names, required: parsed.required };
    case undefined:
      body.refuse("tool_choice", "invalid_value", "must be auto, none, required, a function, or allowed_tools");
      return null;
  }
}

function formatOf(body: Members): OutputFormat | null {
  const format = body.object("response_format");
  if (format === null) return null;
  const type = format.word("type", ["text", "json_object", "json_schema"]);
  const definition = format.object("json_schema");
  format.close();
  if (type === "json_object") return { kind: "json_object" };
  if (type !== "json_schema" || definition === null) return null;
  const made: OutputFormat = {
    kind: "json_schema",
    name: definition.text("name"),
    description: definition.text("description"),
    schema: definition.whole("schema") ?? {},
    strict: definition.flag("strict"),
  };
  definition.close();
  return made;
}

/** The protocol has an old and a new member for the limit; a request with both is native. */
function limitOf(body: Members, cap: number | null): number | null {
  const limit = body.number("max_completion_tokens");
  const asked = limit ?? body.number("max_tokens");
  body.take("max_tokens");
  if (cap === null) return asked;
  return asked === null ? cap : Math.min(asked, cap);
}

function biasOf(body: Members): GenerateRequest["logitBias"] {
  const bias = body.whole("logit_bias");
  return bias === null || Object.keys(bias).length === 0 ? null : bias;
}

function stopOf(body: Members): readonly string[] {
  const stop = body.take("stop");
  if (stop === undefined) return [];
  const stops: readonly JsonValue[] = Array.isArray(stop) ? stop : [stop];
  return stops.flatMap((text) => (typeof text === "string" ? text : []));
}

function logprobsOf(body: Members): number | null {
  const wanted = body.flag("logprobs");
  const alternatives = body.number("top_logprobs");
  return wanted === true ? (alternatives ?? 0) : null;
}

function reasoningOf(body: Members): GenerateRequest["reasoning"] {
  const effort = body.word("reasoning_effort", REASONING_EFFORTS);
  return effort === null ? null : { effort, budget: null, adaptive: false, display: null };
}

function hintsOf(body: Members, edits: RequestEdits): Hints {
  const hint = (name: string): string | null => (isStripped(name, edits) ? null : body.text(name));
  const hints: Hints = {
    serviceTier: hint("service_tier"),
    promptCacheKey: hint("prompt_cache_key"),
    promptCacheRetention: hint("prompt_cache_retention"),
  };
  if (!isStripped("prompt_cache_options", edits)) body.drop(["prompt_cache_options"], "cache_hint_dropped");
  return hints;
}
