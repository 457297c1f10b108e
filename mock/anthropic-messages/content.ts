import type { Completion } from "../model/completion.ts";
import type { Tool } from "../model/plan.ts";
import { seal, sign } from "../model/signature.ts";
import type { MessagesRequest } from "./request.ts";

/** A completed request, ready to be written in Anthropic's form. */
export interface MessagesAnswer {
  /** Number of the request, for identifiers. */
  readonly sequence: number;
  /** As the request names it. */
  readonly model: string;
  readonly request: MessagesRequest;
  /** The tools called, in the order of the completion's calls. */
  readonly called: readonly Tool[];
  readonly completion: Completion;
}

/** One block of the answer, in the pieces in which it is streamed. */
export type ContentBlock =
  | { readonly type: "thinking"; readonly pieces: readonly string[]; readonly signature: string }
  | { readonly type: "redacted_thinking"; readonly data: string }
  | { readonly type: "text"; readonly pieces: readonly string[] }
  | {
      readonly type: "tool_use";
      readonly id: string;
      readonly name: string;
      readonly pieces: readonly string[];
    };

/** The blocks of an answer, in order. A refusal has none of its own: it is in `stop_details`. */
export function contentOf(answer: MessagesAnswer, isRedacted: boolean): readonly ContentBlock[] {
  const { completion, sequence } = answer;
  const blocks: ContentBlock[] = [];
  const thought = piecesOf(completion, "reasoning");
  if (thought.length > 0) blocks.push(thinkingBlock(thought, answer, isRedacted));
  const said = piecesOf(completion, "text");
  if (said.length > 0) blocks.push({ type: "text", pieces: said });
  for (const [index, tool] of answer.called.entries()) {
    const pieces = completion.pieces.filter(
      (piece) => piece.kind === "call" && piece.call === index,
    );
    // A limit may cut the answer before a call.
    if (pieces.length === 0) continue;
    blocks.push({
      type: "tool_use",
      id: `toolu_mock_${sequence}_${index}`,
      name: tool.name,
      pieces: pieces.map((piece) => piece.text),
    });
  }
  return blocks;
}

function thinkingBlock(
  pieces: readonly string[],
  answer: MessagesAnswer,
  isRedacted: boolean,
): ContentBlock {
  if (isRedacted)
    return {
      type: "redacted_thinking",
      data: seal("redacted-thinking", `thought ${answer.sequence}`),
    };
  const shown = answer.request.thinking.isOmitted ? [] : pieces;
  return { type: "thinking", pieces: shown, signature: sign("thinking", shown.join("")) };
}

function piecesOf(completion: Completion, kind: "reasoning" | "text"): readonly string[] {
  return completion.pieces.filter((piece) => piece.kind === kind).map((piece) => piece.text);
}
