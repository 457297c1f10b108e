import type { UpstreamFailure } from "../../../canon/failure.ts";
import type { TokenUsage } from "../../../canon/generate/usage.ts";
import { isJsonObject } from "../../../canon/json.ts";
import type { AnswerContext, WholeAnswer } from "../../dialect.ts";
import { parseAnswerBytes, parseJsonBytes } from "../../json-bytes.ts";
import { readErrorFrame } from "../../openai-chat/read-error.ts";
import { answerFailure } from "../../translation/answer-failure.ts";
import { saidIn, terminalOf } from "../terminal.ts";
import { readUsage } from "../usage.ts";
import { fillResource, isFullResource } from "./fill-resource.ts";

/**
 * Judges a whole answer: a response resource whose status says that it is at its end. Its bytes go on as they came, unless it lacks
 * members that the surface promises.
 */
export function readResponsesAnswer(bytes: Uint8Array, context: AnswerContext): WholeAnswer {
  const response = parseAnswerBytes(bytes);
  if (!isJsonObject(response)) return failed(answerFailure("malformed"), null);
  const usage = readUsage(response["usage"]);
  const { error, output, status } = response;
  if (isJsonObject(error) && status === undefined) return failed(readErrorFrame(error), usage);
  const terminal = terminalOf(status, response, saidIn(output));
  if (terminal.kind === "failure") return failed(terminal.failure, usage);
  if (!Array.isArray(output)) return failed(answerFailure("malformed"), usage);
  const ending = { failure: null, finish: terminal.reason, usage, losses: [] };
  if (isFullResource(response)) return { ending, bytes };
  // Read again, exactly: what the provider printed is printed again.
  const exact = parseJsonBytes(bytes);
  const filled = fillResource(isJsonObject(exact) ? exact : response, context);
  return { ending, bytes: new TextEncoder().encode(JSON.stringify(filled)) };
}

function failed(failure: UpstreamFailure, usage: TokenUsage | null): WholeAnswer {
  return { ending: { failure, finish: null, usage, losses: [] }, bytes: new Uint8Array(0) };
}
