import type { UpstreamFailure } from "../../../canon/failure.ts";
import { isJsonObject } from "../../../canon/json.ts";
import type { AnswerContext, Ending, WholeAnswer } from "../../dialect.ts";
import { parseAnswerBytes } from "../../json-bytes.ts";
import { answerFailure } from "../../translation/answer-failure.ts";
import { asksNothing, readStopReason } from "../finish.ts";
import { readErrorFrame } from "../read-error.ts";
import { readCount, UsageTally } from "../usage.ts";

/** Judges a whole message: content, and a reason why it ended. Unknown reasons and blocks are the caller's to read. */
export function readMessagesAnswer(bytes: Uint8Array, { request }: AnswerContext): WholeAnswer {
  const answer = parseAnswerBytes(bytes);
  if (!isJsonObject(answer)) return failed(answerFailure("malformed"));
  if (answer["type"] === "error") return failed(readErrorFrame(answer["error"]));
  const finish = readStopReason(answer["stop_reason"]);
  const tally = new UsageTally();
  tally.add(answer["usage"]);
  const { usage } = tally;
  const isEnded = finish !== null || asksNothing(request);
  if (!isEnded || !Array.isArray(answer["content"])) return failed(answerFailure("malformed"), usage);
  return { ending: { failure: null, finish, usage, losses: [] }, bytes };
}

/** Judges the answer to a count: it is one only with a count. */
export function readCountAnswer(bytes: Uint8Array): WholeAnswer {
  const answer = parseAnswerBytes(bytes);
  if (!isJsonObject(answer)) return failed(answerFailure("malformed"));
  if (answer["type"] === "error") return failed(readErrorFrame(answer["error"]));
  const input = readCount(answer["input_tokens"]);
  if (input === null) return failed(answerFailure("malformed"));
  const usage = { input, output: null, cacheRead: null, cacheWrite: null, reasoning: null };
  return { ending: { failure: null, finish: null, usage, losses: [] }, bytes };
}

const NOTHING = new Uint8Array(0);

function failed(failure: UpstreamFailure, usage: Ending["usage"] = null): WholeAnswer {
  return { ending: { failure, finish: null, usage, losses: [] }, bytes: NOTHING };
}
