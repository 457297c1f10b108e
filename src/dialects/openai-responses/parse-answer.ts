import type { UpstreamFailure } from "../../canon/failure.ts";
import type { InferenceEvent } from "../../canon/generate/event.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { BlockSequencer } from "../answer-events.ts";
import { parseAnswerBytes } from "../json.ts";
import { readErrorFrame } from "../openai-chat/read-error.ts";
import { answerFailure } from "../answer-failure.ts";
import { wholeTerminal } from "./terminal.ts";
import { readUsage } from "./usage.ts";
import { ItemEmitter } from "./item-emitter.ts";

/**
 * A whole response resource as the events that a stream of it would be.
 *
 * @param family who can read the signatures of the endpoint's model.
 */
export function parseResponsesAnswer(bytes: Uint8Array, family: string | null): readonly InferenceEvent[] {
  const response = parseAnswerBytes(bytes);
  if (!isJsonObject(response)) return failed(null, [], answerFailure("malformed"));
  const { error, status, output, model } = response;
  const start = typeof model === "string" ? model : null;
  if (isJsonObject(error) && status === undefined) return failed(start, [], readErrorFrame(error));
  const sequencer = new BlockSequencer();
  const emitter = new ItemEmitter(sequencer, family);
  tellOutput(output, emitter);
  sequencer.closeAll();
  const usage = readUsage(response["usage"]);
  const events: InferenceEvent[] = [...sequencer.drain()];
  if (usage !== null) events.push({ type: "usage", usage });
  const terminal = wholeTerminal(response, emitter);
  if (terminal.kind === "failure") return failed(start, events, terminal.failure);
  if (emitter.unexpected !== null) return failed(start, events, answerFailure("malformed", emitter.unexpected));
  if (!Array.isArray(output)) return failed(start, events, answerFailure("malformed"));
  if (terminal.reason === "other") return failed(start, events, answerFailure("malformed", "unknown_finish_reason"));
  const dropped = [...emitter.dropped].map((field) => ({ type: "dropped", field }) as const);
  const finish = { type: "finish", reason: terminal.reason, stopSequence: null } as const;
  return [{ type: "start", model: start }, ...events, ...dropped, finish];
}

/** The answer to a token count: nothing was generated. */
export function parseTokenCount(bytes: Uint8Array): readonly InferenceEvent[] {
  const answer = parseAnswerBytes(bytes);
  const count = isJsonObject(answer) ? readUsage({ input_tokens: answer["input_tokens"] ?? null }) : null;
  if (count === null || count.input === null) return failed(null, [], answerFailure("malformed"));
  return [
    { type: "start", model: null },
    { type: "usage", usage: count },
    { type: "finish", reason: "stop", stopSequence: null },
  ];
}

function tellOutput(output: JsonValue | undefined, emitter: ItemEmitter): void {
  const items: readonly JsonObject[] = Array.isArray(output) ? output.filter(isJsonObject) : [];
  for (const [index, item] of items.entries()) emitter.done(index, item);
}

function failed(
  model: string | null,
  events: readonly InferenceEvent[],
  failure: UpstreamFailure,
): readonly InferenceEvent[] {
  return [{ type: "start", model }, ...events, { type: "failure", failure }];
}
