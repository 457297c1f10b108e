import { readCount, parseAnswerBytes, parseJsonBytes } from "../json.ts";
import { NO_EDITS, SIGNATURES_MARKED } from "../../canon/generate/edit.ts";
import type { UpstreamFailure } from "../../canon/failure.ts";
import { isJsonObject, type JsonObject } from "../../canon/json.ts";
import type { AnswerContext, Ending, WholeAnswer } from "../dialect.ts";
import { answerFailure } from "../answer-failure.ts";
import { asksNothing, readStopReason, UsageTally, messageFailure, readErrorFrame } from "./ending.ts";
import { tagMessage } from "./tag-signatures.ts";

/** Judges a whole message: content, and a reason why it ended. Unknown reasons and blocks are the caller's to read. */
export function readMessagesAnswer(bytes: Uint8Array, { request, signatureFamily }: AnswerContext): WholeAnswer {
  const answer = parseAnswerBytes(bytes);
  if (!isJsonObject(answer)) return failed(answerFailure("malformed"));
  const broken = messageFailure(answer);
  if (broken !== null) return failed(broken);
  const finish = readStopReason(answer["stop_reason"]);
  const tally = new UsageTally();
  tally.add(answer["usage"]);
  const { usage } = tally;
  const isEnded = finish !== null || asksNothing(request);
  if (!isEnded || !Array.isArray(answer["content"])) return failed(answerFailure("malformed"), usage);
  const tagged = withTags(bytes, answer, signatureFamily);
  const edits = tagged === bytes ? NO_EDITS : SIGNATURES_MARKED;
  return { ending: { failure: null, finish, usage, dropped: [], edits }, bytes: tagged };
}

/** The bytes themselves where no signature needs a tag; else printed again, with every number as the provider printed it. */
function withTags(bytes: Uint8Array, answer: JsonObject, family: string | null): Uint8Array {
  if (tagMessage(answer, family) === answer) return bytes;
  const exact = parseJsonBytes(bytes);
  return new TextEncoder().encode(JSON.stringify(tagMessage(isJsonObject(exact) ? exact : answer, family)));
}

/** Judges the answer to a count: it is one only with a count. */
export function readCountAnswer(bytes: Uint8Array): WholeAnswer {
  const answer = parseAnswerBytes(bytes);
  if (!isJsonObject(answer)) return failed(answerFailure("malformed"));
  if (answer["type"] === "error") return failed(readErrorFrame(answer["error"]));
  const input = readCount(answer["input_tokens"]);
  if (input === null) return failed(answerFailure("malformed"));
  const usage = { input, output: null, cacheRead: null, cacheWrite: null, reasoning: null };
  return { ending: { failure: null, finish: null, usage, dropped: [] }, bytes };
}

const NOTHING = new Uint8Array(0);

function failed(failure: UpstreamFailure, usage: Ending["usage"] = null): WholeAnswer {
  return { ending: { failure, finish: null, usage, dropped: [] }, bytes: NOTHING };
}
