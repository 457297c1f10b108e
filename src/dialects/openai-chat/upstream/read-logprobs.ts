import type { TokenLogprob } from "../../../canon/generate/event.ts";
import { isJsonObject, type JsonValue } from "../../../canon/json.ts";

/** `logprobs.content` of a choice; entries without a token or a number are no log probabilities. */
export function readLogprobs(logprobs: JsonValue | undefined): readonly TokenLogprob[] {
  const content = isJsonObject(logprobs) ? logprobs["content"] : null;
  if (!Array.isArray(content)) return NONE;
  return content.flatMap((entry) => readLogprob(entry) ?? []);
}

const NONE: readonly TokenLogprob[] = Object.freeze([]);

function readLogprob(entry: JsonValue): TokenLogprob | null {
  if (!isJsonObject(entry)) return null;
  const { token, logprob, bytes, top_logprobs: top } = entry;
  if (typeof token !== "string" || typeof logprob !== "number") return null;
  return {
    token,
    logprob,
    bytes: Array.isArray(bytes) ? bytes.filter((byte) => typeof byte === "number") : null,
    top: Array.isArray(top) ? top.filter((other) => isJsonObject(other)) : [],
  };
}
