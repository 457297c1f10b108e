import type { RequestEdits } from "../../../canon/decision.ts";
import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import type { InferenceRequest } from "../../../canon/request.ts";
import type { UnknownFields } from "../../../canon/table.ts";
import type { CanonicalRequest } from "../../dialect.ts";
import { Ledger, Members } from "../../members.ts";
import { RESPONSES_FIELDS } from "../fields.ts";
import { readTurns } from "./items.ts";
import { readFormat, readHints, readLogprobs, readReasoning, readToolChoice, readTools } from "./options.ts";

/** Members that have done their work when a body was parsed: what is left of them asks for nothing. */
const SETTLED = [
  "model",
  "provider",
  "stream_options",
  "truncation",
  "store",
  "background",
  "previous_response_id",
  "conversation",
  "prompt",
  "context_management",
] as const;

const IDENTITY: readonly string[] = Object.keys(RESPONSES_FIELDS).filter(
  (name) => RESPONSES_FIELDS[name]?.class === "identity",
);

/** A parsed responses request in canon. */
export function responsesToCanon(
  request: InferenceRequest,
  unknownFields: UnknownFields,
  edits: RequestEdits,
): CanonicalRequest | ServiceError {
  const ledger = new Ledger();
  const body = new Members(request.body, "", ledger);
  for (const name of SETTLED) body.take(name);
  for (const name of IDENTITY) if (body.take(name) !== undefined) ledger.strip(name);
  const turns = readTurns(body);
  const tools = readTools(body);
  const toolChoice = readToolChoice(body);
  const parallel = body.flag("parallel_tool_calls");
  const { format, verbosity } = readFormat(body, request.body);
  const canonical = {
    purpose: "generate",
    turns,
    tools,
    toolChoice,
    // The protocol's default asks for nothing.
    parallelToolCalls: parallel === false ? false : null,
    format,
    maxOutputTokens: capped(body.number("max_output_tokens"), edits.maxOutputTokens),
    temperature: body.number("temperature"),
    topP: body.number("top_p"),
    topK: null,
    frequencyPenalty: penalty(body.number("frequency_penalty")),
    presencePenalty: penalty(body.number("presence_penalty")),
    logitBias: null,
    seed: null,
    stop: [],
    logprobs: readLogprobs(body),
    reasoning: readReasoning(body),
    verbosity,
    hints: readHints(body, edits.stripFields),
    stream: body.flag("stream") ?? false,
  } as const;
  body.close();
  const error = ledger.result(unknownFields);
  if (error !== null) return error;
  if (turns.length === 0) return invalidRequest("missing_field", "input must hold something to answer", "input");
  return { request: canonical, stripped: [...ledger.stripped], losses: [...ledger.losses] };
}

function capped(asked: number | null, cap: number | null): number | null {
  if (asked === null || cap === null) return asked ?? cap;
  return Math.min(asked, cap);
}

/** A penalty of 0 is none. */
function penalty(value: number | null): number | null {
  return value === 0 ? null : value;
}
