import type { TokenLogprob } from "../../../canon/generate/event.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";

/** Reads `logprobsResult`: what was chosen, and for each place what might have been. The protocol does not give a token's bytes. */
export function readLogprobs(result: JsonValue | undefined): readonly TokenLogprob[] {
  if (!isJsonObject(result)) return NONE;
  const alternatives = listOf(result["topCandidates"]).map((place) => listOf(place["candidates"]));
  return listOf(result["chosenCandidates"]).map((chosen, index) => ({
    ...readToken(chosen),
    bytes: null,
    top: (alternatives[index] ?? []).map((candidate): JsonObject => ({ ...readToken(candidate), bytes: null })),
  }));
}

const NONE: readonly TokenLogprob[] = Object.freeze([]);

/** Left out on the wire where it is zero: the token was certain. */
function readToken({ token, logProbability }: JsonObject): { readonly token: string; readonly logprob: number } {
  return {
    token: typeof token === "string" ? token : "",
    logprob: typeof logProbability === "number" ? logProbability : 0,
  };
}

function listOf(value: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
