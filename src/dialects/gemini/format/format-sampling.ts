import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import type { GenerateRequest } from "../../../canon/generate/generate-request.ts";
import type { Draft } from "./draft.ts";

/** The most stop sequences that the protocol takes. */
const MOST_STOPS = 5;

/** Seeds are 32 bits. */
const GREATEST_SEED = 2 ** 31 - 1;
const LEAST_SEED = -(2 ** 31);

/** Writes the members of `generationConfig` that are numbers and texts of the caller. */
export function formatSampling(request: GenerateRequest, draft: Draft): ServiceError | null {
  const { config, dropped } = draft;
  const { seed, stop, logprobs, maxOutputTokens } = request;
  if (stop.length > MOST_STOPS) {
    return invalidRequest(
      "too_many_stop_sequences",
      `An endpoint that may get the request takes at most ${MOST_STOPS} stop sequences`,
    );
  }
  if (seed !== null && (seed > GREATEST_SEED || seed < LEAST_SEED)) {
    return invalidRequest(
      "invalid_seed",
      `An endpoint that may get the request takes seeds from ${LEAST_SEED} to ${GREATEST_SEED}`,
    );
  }
  if (maxOutputTokens !== null) {
    // On the wire zero is the same as no limit at all.
    if (maxOutputTokens < 1) dropped.add("output_limit_raised");
    config["maxOutputTokens"] = Math.max(maxOutputTokens, 1);
  }
  if (request.temperature !== null) config["temperature"] = request.temperature;
  if (request.topP !== null) config["topP"] = request.topP;
  if (request.topK !== null) config["topK"] = request.topK;
  if (request.frequencyPenalty !== null) config["frequencyPenalty"] = request.frequencyPenalty;
  if (request.presencePenalty !== null) config["presencePenalty"] = request.presencePenalty;
  if (seed !== null) config["seed"] = seed;
  if (stop.length > 0) config["stopSequences"] = stop;
  if (logprobs !== null) {
    config["responseLogprobs"] = true;
    if (logprobs > 0) config["logprobs"] = logprobs;
    dropped.add("token_bytes_unknown");
  }
  return null;
}
