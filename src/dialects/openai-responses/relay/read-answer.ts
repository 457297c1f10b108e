import type { UpstreamFailure } from "../../../canon/failure.ts";
import type { TokenUsage } from "../../../canon/generate/usage.ts";
import { editSet, NO_EDITS, SIGNATURES_MARKED } from "../../../canon/generate/edit.ts";
import { isJsonObject } from "../../../canon/json.ts";
import type { AnswerContext, WholeAnswer } from "../../dialect.ts";
import { parseAnswerBytes, parseJsonBytes } from "../../json-bytes.ts";
import { readErrorFrame } from "../../openai-chat/read-error.ts";
import { answerFailure } from "../../translation/answer-failure.ts";
import { failedObject } from "../render/failure.ts";
import { saidIn, wholeTerminal } from "../terminal.ts";
import { readUsage } from "../usage.ts";
import { fillResource, isFullResource } from "./fill-resource.ts";
import { tagResource } from "../sealed-reasoning.ts";

/**
 * Judges a whole answer: a response resource whose status says that it is at its end. Its bytes go on as they came, unless it lacks
 * members that the surface promises, or has encrypted reasoning that needs the tag of its family. One that has failed goes on too, with what it
 * has; only the provider's text about the failure does not.
 */
export function readResponsesAnswer(bytes: Uint8Array, context: AnswerContext): WholeAnswer {
  const response = parseAnswerBytes(bytes);
  if (!isJsonObject(response)) return failed(answerFailure("malformed"), null);
  const usage = readUsage(response["usage"]);
  const { error, output, status } = response;
  if (isJsonObject(error) && status === undefined) return failed(readErrorFrame(error), usage);
  const terminal = wholeTerminal(response, saidIn(output));
  if (terminal.kind === "failure" && terminal.failure.final !== true) return failed(terminal.failure, usage);
  // A provider that failed before it said anything may leave its output out.
  if (!Array.isArray(output) && terminal.kind === "finish") return failed(answerFailure("malformed"), usage);
  const { signatureFamily } = context;
  const isFailed = terminal.kind === "failure";
  const isFull = !isFailed && isFullResource(response);
  const end = isFailed ? { failure: terminal.failure, finish: null } : { failure: null, finish: terminal.reason };
  const ending = { ...end, usage, dropped: [] };
  if (isFull && tagResource(response, signatureFamily) === response) return { ending, bytes };
  // Read again, exactly: what the provider printed is printed again.
  const exact = parseJsonBytes(bytes);
  const tagged = tagResource(isJsonObject(exact) ? exact : response, signatureFamily);
  const filled = isFull ? tagged : fillResource(tagged, context);
  const printed = isFailed ? { ...filled, error: failedObject(error, context.requestId) } : filled;
  const edits = (isFull ? NO_EDITS : MEMBERS_FILLED) | (tagged === exact ? NO_EDITS : SIGNATURES_MARKED);
  return { ending: { ...ending, edits }, bytes: new TextEncoder().encode(JSON.stringify(printed)) };
}

const MEMBERS_FILLED = editSet("answer_members_filled");

function failed(failure: UpstreamFailure, usage: TokenUsage | null): WholeAnswer {
  return { ending: { failure, finish: null, usage, dropped: [] }, bytes: new Uint8Array(0) };
}
