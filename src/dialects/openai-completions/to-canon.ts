import type { RequestEdits } from "../../canon/decision.ts";
import type { ServiceError } from "../../canon/error.ts";
import type { InferenceRequest } from "../../canon/request.ts";
import type { UnknownFields } from "../../canon/table.ts";
import type { CanonicalRequest } from "../dialect.ts";
import { TranslationRecord, Members } from "../members.ts";
import { COMPLETIONS_FIELDS } from "./fields.ts";
import { onlyPrompt } from "./parse-request.ts";

/**
 * A request for one completion of one text, as a conversation of one user turn (docs/protocols.md#completions). Members that only the legacy protocol has were
 * refused by the features that `parse` found; they are refused again here by name, so that no gap between the two can drop a member.
 */
export function completionsToCanon(
  { body, shape }: InferenceRequest,
  mode: UnknownFields,
  edits: RequestEdits,
): CanonicalRequest | ServiceError {
  const record = new TranslationRecord();
  const members = new Members(body, "", record);
  stripMembers(members, edits);
  members.take("model");
  members.take("provider");
  members.take("stream");
  const options = members.object("stream_options");
  for (const name of ["include_usage", "include_obfuscation"]) options?.take(name);
  options?.close();
  const prompt = onlyPrompt(members.take("prompt")) ?? "";
  if (prompt === "") members.refuse("prompt", NATIVE_CODE, `must be one text that is not empty: ${NATIVE_REASON}`);
  refuseNativeMembers(members);
  record.drop("prompt_as_message");
  const bias = members.whole("logit_bias");
  const request = {
    purpose: "generate",
    turns: [{ role: "user", name: null, content: [{ kind: "text", text: prompt, cache: null }] }],
    tools: [],
    toolChoice: null,
    parallelToolCalls: null,
    format: null,
    maxOutputTokens: capped(members.number("max_tokens"), edits.maxOutputTokens),
    temperature: members.number("temperature"),
    topP: members.number("top_p"),
    topK: null,
    // Zero is no penalty, and an empty table no bias, in this protocol and every other.
    frequencyPenalty: members.number("frequency_penalty") || null,
    presencePenalty: members.number("presence_penalty") || null,
    logitBias: bias === null || Object.keys(bias).length === 0 ? null : bias,
    seed: members.number("seed"),
    stop: stopSequences(members),
    logprobs: null,
    reasoning: null,
    verbosity: null,
    hints: { serviceTier: null, promptCacheKey: null, promptCacheRetention: null },
    stream: shape.stream,
  } as const;
  members.close();
  return record.result(mode) ?? { request, stripped: [...record.stripped], dropped: [...record.dropped] };
}

const NATIVE_CODE = "feature_not_supported";
const NATIVE_REASON = "only an endpoint of the legacy completions protocol can say more";

const IDENTITY = Object.keys(COMPLETIONS_FIELDS).filter((name) => COMPLETIONS_FIELDS[name]?.class === "identity");

/** Identity members, and those that a policy takes out. */
function stripMembers(members: Members, edits: RequestEdits): void {
  for (const name of [...IDENTITY, ...edits.stripFields]) {
    if (members.take(name) !== undefined) members.record.strip(name);
  }
}

/** Members that mean nothing at their defaults and cannot be translated at any other value. */
function refuseNativeMembers(members: Members): void {
  const native = (name: string): void => members.refuse(name, NATIVE_CODE, `cannot be translated: ${NATIVE_REASON}`);
  for (const name of ["suffix", "logprobs"]) if (members.take(name) !== undefined) native(name);
  if (members.flag("echo") === true) native("echo");
  if (members.number("max_tokens") === 0) native("max_tokens");
  for (const name of ["n", "best_of"]) if ((members.number(name) ?? 1) > 1) native(name);
}

function stopSequences(members: Members): readonly string[] {
  const stop = members.take("stop");
  if (stop === undefined) return [];
  if (typeof stop === "string") return [stop];
  return members.list("stop").filter((sequence) => typeof sequence === "string");
}

function capped(asked: number | null, limit: number | null): number | null {
  return asked === null || limit === null ? (asked ?? limit) : Math.min(asked, limit);
}
