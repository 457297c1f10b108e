import { callOf, textOf, type Completion, type Piece } from "../model/completion.ts";
import { tokenLogprob, type TokenLogprob } from "../model/logprobs.ts";
import type { Tool } from "../model/plan.ts";
import { seal } from "../model/signature.ts";
import type { ResponsesRequest } from "./request.ts";

/** A completed request, ready to be written in OpenAI's form. */
export interface ResponsesAnswer {
  /** Number of the request, for identifiers. */
  readonly sequence: number;
  /** As the request names it. */
  readonly model: string;
  readonly request: ResponsesRequest;
  /** The tools called, in the order of the completion's calls. */
  readonly called: readonly Tool[];
  readonly completion: Completion;
  readonly hasSummary: boolean;
}

type ItemStatus = "completed" | "incomplete";

/** One item of the answer, with the pieces in which it is streamed. */
export type OutputItem =
  | {
      readonly type: "reasoning";
      readonly id: string;
      readonly sealed: string | null;
      /** Of the summary; empty where there is none. */
      readonly pieces: readonly string[];
    }
  | {
      readonly type: "message";
      readonly id: string;
      readonly status: ItemStatus;
      readonly part: "output_text" | "refusal";
      readonly pieces: readonly string[];
    }
  | {
      readonly type: "function_call" | "custom_tool_call";
      readonly id: string;
      readonly status: ItemStatus;
      readonly callId: string;
      readonly name: string;
      readonly pieces: readonly string[];
    };

/** The items of an answer, in order. Where the answer is incomplete, so is the last one. */
export function outputOf(answer: ResponsesAnswer, isIncomplete: boolean): readonly OutputItem[] {
  const { completion, sequence, request } = answer;
  const items: OutputItem[] = [];
  if (completion.reasoningTokens > 0) {
    const id = `rs_mock_${sequence}_0`;
    items.push({
      type: "reasoning",
      id,
      sealed: request.encrypted ? seal("encrypted-reasoning", id) : null,
      pieces: answer.hasSummary ? texts(completion.pieces, "reasoning") : [],
    });
  }
  const calls = answer.called.flatMap((tool, call) =>
    callOf(completion, call) === null ? [] : [{ tool, call }],
  );
  for (const [index, { tool, call }] of calls.entries()) {
    const pieces = completion.pieces.filter(
      (piece) => piece.kind === "call" && piece.call === call,
    );
    items.push({
      type: tool.type === "custom" ? "custom_tool_call" : "function_call",
      id: `${tool.type === "custom" ? "ctc" : "fc"}_mock_${sequence}_${items.length}`,
      status: isIncomplete && index === calls.length - 1 ? "incomplete" : "completed",
      callId: `call_mock_${sequence}_${call}`,
      name: tool.name,
      pieces: pieces.map((piece) => piece.text),
    });
  }
  const refused = textOf(completion, "refusal") !== "";
  const said = texts(completion.pieces, refused ? "refusal" : "text");
  // A limit that is used up by reasoning leaves no message; a stop sequence at its very beginning
  // leaves an empty one.
  if (calls.length > 0 || (said.length === 0 && isIncomplete && items.length > 0)) return items;
  return [
    ...items,
    {
      type: "message",
      id: `msg_mock_${sequence}_${items.length}`,
      status: isIncomplete ? "incomplete" : "completed",
      part: refused ? "refusal" : "output_text",
      pieces: said,
    },
  ];
}

function texts(pieces: readonly Piece[], kind: Piece["kind"]): readonly string[] {
  return pieces.filter((piece) => piece.kind === kind).map((piece) => piece.text);
}

/** The item at the end of the answer. */
export function itemJson(item: OutputItem, logprobs: number | null): Record<string, unknown> {
  const text = item.pieces.join("");
  switch (item.type) {
    case "reasoning": {
      const summary = item.pieces.length === 0 ? [] : [{ type: "summary_text", text }];
      const sealed = item.sealed === null ? {} : { encrypted_content: item.sealed };
      return { id: item.id, type: "reasoning", ...sealed, summary };
    }
    case "message":
      return {
        id: item.id,
        type: "message",
        status: item.status,
        content: [partJson(item.part, item.pieces, logprobs)],
        role: "assistant",
      };
    case "function_call":
    case "custom_tool_call":
      return { ...callHead(item), status: item.status, [payloadOf(item.type)]: text };
  }
}

/** The item as it is added to a stream, before its first piece. */
export function emptyItemJson(item: OutputItem): Record<string, unknown> {
  switch (item.type) {
    case "reasoning":
      return itemJson({ ...item, pieces: [] }, null);
    case "message":
      return {
        id: item.id,
        type: "message",
        status: "in_progress",
        content: [],
        role: "assistant",
      };
    case "function_call":
    case "custom_tool_call":
      return { ...callHead(item), status: "in_progress", [payloadOf(item.type)]: "" };
  }
}

function callHead(item: Extract<OutputItem, { callId: string }>): Record<string, unknown> {
  return { id: item.id, type: item.type, call_id: item.callId, name: item.name };
}

export function payloadOf(type: "function_call" | "custom_tool_call"): "arguments" | "input" {
  return type === "custom_tool_call" ? "input" : "arguments";
}

export function partJson(
  part: "output_text" | "refusal",
  pieces: readonly string[],
  logprobs: number | null,
): Record<string, unknown> {
  const text = pieces.join("");
  return part === "refusal"
    ? { type: "refusal", refusal: text }
    : { type: "output_text", annotations: [], logprobs: logprobsOf(pieces, logprobs), text };
}

/** @param alternatives `null` where no log probabilities are requested. */
export function logprobsOf(
  pieces: readonly string[],
  alternatives: number | null,
): readonly TokenLogprob[] {
  return alternatives === null ? [] : pieces.map((piece) => tokenLogprob(piece, alternatives));
}
