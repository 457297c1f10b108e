import type { TokenLogprob } from "../canon/generate/event.ts";
import { isJsonObject, type JsonValue } from "../canon/json.ts";

const NONE: readonly TokenLogprob[] = Object.freeze([]);

/**
 * Log probabilities as chat completions and Responses list them; entries without a token or a
 * number are omitted. No bytes are `null`.
 */
export function readTokenLogprobs(value: JsonValue | undefined): readonly TokenLogprob[] {
  if (!Array.isArray(value)) return NONE;
  return value.flatMap((entry) => {
    if (!isJsonObject(entry)) return [];
    const { token, logprob, bytes, top_logprobs: top } = entry;
    if (typeof token !== "string" || typeof logprob !== "number") return [];
    return [
      {
        token,
        logprob,
        bytes:
          Array.isArray(bytes) && bytes.length > 0
            ? bytes.filter((byte) => typeof byte === "number")
            : null,
        top: Array.isArray(top) ? top.filter(isJsonObject) : [],
      },
    ];
  });
}
