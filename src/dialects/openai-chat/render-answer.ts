import type { Answer, AnswerBlock, TokenLogprob } from "../../canon/generate/event.ts";
import type { DroppedField } from "../../canon/generate/edit.ts";
import { tagSignature } from "../../canon/generate/signature.ts";
import type { JsonObject } from "../../canon/json.ts";
import type { AnswerContext } from "../dialect.ts";
import { pieceName, reasoningDetails } from "./reasoning.ts";
import { codePoints } from "./family.ts";
import { formatFinishReason, printCitation, printLogprobs, printUsage } from "./render-stream.ts";

/** A whole answer as one completion with one choice. */
export function renderChatAnswer(
  answer: Answer,
  context: AnswerContext,
): { readonly body: JsonObject; readonly dropped: readonly DroppedField[] } {
  const message = new MessagePrinter(context.request.body["logprobs"] === true);
  for (const block of answer.blocks) message.add(block);
  if (answer.finish !== null && answer.finish.stopSequence !== null)
    message.dropped.add("stop_sequence_unnamed");
  const usage = printUsage(answer.usage);
  const body: JsonObject = {
    id: `chatcmpl-${context.answerId}`,
    object: "chat.completion",
    created: context.now(),
    model: answer.model ?? context.model,
    choices: [
      {
        index: 0,
        message: message.print(),
        logprobs: printLogprobs(message.logprobs),
        finish_reason: answer.finish === null ? null : formatFinishReason(answer.finish.reason),
      },
    ],
    ...(usage === null ? {} : { usage }),
  };
  return { body, dropped: [...message.dropped] };
}

type TextBlock = Extract<AnswerBlock, { kind: "text" }>;

/** Joins an answer's blocks into the one message that this protocol has. */
class MessagePrinter {
  readonly dropped = new Set<DroppedField>();
  readonly logprobs: TokenLogprob[] = [];
  readonly #wantsLogprobs: boolean;
  #content: string | null = null;
  #refusal: string | null = null;
  #reasoning = "";
  #isSigned = false;
  #pieces = 0;
  readonly #details: JsonObject[] = [];
  readonly #annotations: JsonObject[] = [];
  readonly #calls: JsonObject[] = [];

  constructor(wantsLogprobs: boolean) {
    this.#wantsLogprobs = wantsLogprobs;
  }

  add(block: AnswerBlock): void {
    if (block.kind !== "tool_call" && this.#calls.length > 0) this.dropped.add("parts_reordered");
    switch (block.kind) {
      case "text":
        this.#addText(block);
        break;
      case "refusal":
        this.#refusal = (this.#refusal ?? "") + block.text;
        break;
      case "reasoning": {
        const { signature, family } = block;
        this.#reasoning += block.text;
        this.#isSigned ||= signature !== null;
        const tagged =
          signature === null || family === null ? null : tagSignature(family, signature);
        const name = pieceName(this.#pieces);
        this.#pieces += 1;
        for (const detail of reasoningDetails(block, tagged, name)) this.#details.push(detail);
        break;
      }
      case "tool_call":
        this.#calls.push({
          id: block.id,
          type: "function",
          function: { name: block.name, arguments: block.arguments },
        });
    }
  }

  print(): JsonObject {
    const isEmpty = this.#refusal === null && this.#calls.length === 0;
    return {
      role: "assistant",
      content: this.#content ?? (isEmpty ? "" : null),
      refusal: this.#refusal,
      ...(this.#reasoning === "" ? {} : { reasoning_content: this.#reasoning }),
      ...(this.#isSigned ? { reasoning_details: this.#details } : {}),
      ...(this.#annotations.length === 0 ? {} : { annotations: this.#annotations }),
      ...(this.#calls.length === 0 ? {} : { tool_calls: this.#calls }),
    };
  }

  #addText({ text, logprobs, citations }: TextBlock): void {
    if (this.#wantsLogprobs) for (const logprob of logprobs) this.logprobs.push(logprob);
    if (citations.length > 0) {
      const before = codePoints(this.#content ?? "");
      const length = codePoints(text);
      for (const citation of citations) {
        const printed = printCitation(citation, before, length);
        if (printed === null) this.dropped.add("citations_dropped");
        else this.#annotations.push(printed);
      }
    }
    this.#content = (this.#content ?? "") + text;
  }
}
