import type { UpstreamFailure } from "../../canon/failure.ts";
import type { JsonObject } from "../../canon/json.ts";
import { readConverseError } from "../bedrock-converse/read-error.ts";
import { readCohereError, readErrorObject } from "./read-error.ts";
import { bedrockErrorIn } from "../bedrock-converse/invoke-model.ts";

/**
 * Makes a failure of an error status where Cohere's models answer, at Cohere or through Bedrock. What the status means Bedrock knows best: it has
 * one more than Cohere. What Cohere's message says is finer than the type that Bedrock puts around it.
 */
export function readCohereModelError(status: number, bytes: Uint8Array): UpstreamFailure {
  const failure = readConverseError(status, bytes);
  return { ...failure, code: readCohereError(status, bytes).code ?? failure.code };
}

/** The same for an answer that said 200 and has no results; `null` where it is no error. */
export function cohereErrorIn(answer: JsonObject): UpstreamFailure | null {
  const failure = bedrockErrorIn(answer);
  return failure === null ? null : { ...failure, code: readErrorObject(answer).code ?? failure.code };
}
