import type { Answer, AnswerBlock } from "../../canon/generate/event.ts";
import type { DroppedField } from "../../canon/generate/edit.ts";
import type { JsonObject } from "../../canon/json.ts";
import type { AnswerContext } from "../dialect.ts";
import { printUsage } from "./ending.ts";
import { conclusionOf, requestEcho } from "./resource.ts";
import {
  callItem,
  ID_PREFIXES,
  messageItem,
  outputTextPart,
  printCitation,
  printLogprob,
  reasoningItem,
  refusalPart,
  type ItemStatus,
} from "./items.ts";

/** A whole answer as a response resource with every member that the protocol's clients demand. */
export function renderResponsesAnswer(
  answer: Answer,
  context: AnswerContext,
): { readonly body: JsonObject; readonly dropped: readonly DroppedField[] } {
  const dropped = new Set<DroppedField>();
  const reason = answer.finish?.reason ?? "other";
  if (answer.finish?.stopSequence !== null) dropped.add("stop_sequence_unnamed");
  const conclusion = conclusionOf(
    reason,
    answer.blocks.some(({ kind }) => kind === "refusal"),
  );
  const groups = groupedBlocks(answer.blocks);
  const output = groups.map((group, index) => {
    // What was cut off is what came last.
    const status = index === groups.length - 1 ? conclusion.status : "completed";
    return printItem(group, index, status, context, dropped);
  });
  const usage = printUsage(answer.usage);
  if (usage === null && answer.usage !== null) dropped.add("usage_hidden");
  const now = context.now();
  const body = {
    id: `resp_${context.answerId}`,
    object: "response",
    created_at: now,
    completed_at: conclusion.status === "completed" ? now : null,
    ...conclusion,
    error: null,
    model: answer.model ?? context.model,
    output,
    usage,
    ...requestEcho(context.request.body),
    request_id: context.requestId,
  };
  return { body, dropped: [...dropped] };
}

/**
 * Texts and refusals that follow one another are parts of one message; every other block is an
 * item.
 */
function groupedBlocks(blocks: readonly AnswerBlock[]): readonly (readonly AnswerBlock[])[] {
  const groups: AnswerBlock[][] = [];
  for (const block of blocks) {
    const last = groups.at(-1);
    if (last !== undefined && isPart(block) && last.every(isPart)) last.push(block);
    else groups.push([block]);
  }
  return groups;
}

function isPart({ kind }: AnswerBlock): boolean {
  return kind === "text" || kind === "refusal";
}

function printItem(
  blocks: readonly AnswerBlock[],
  index: number,
  status: ItemStatus,
  { answerId }: AnswerContext,
  dropped: Set<DroppedField>,
): JsonObject {
  const position = `${answerId}_${index}`;
  const [first] = blocks;
  if (first?.kind === "tool_call") {
    return callItem(
      `${ID_PREFIXES.function_call}_${position}`,
      status,
      first.id,
      first.name,
      first.arguments,
    );
  }
  if (first?.kind === "reasoning")
    return reasoningItem(`${ID_PREFIXES.reasoning}_${position}`, status, first);
  const parts = blocks.flatMap((block) => printPart(block, dropped));
  return messageItem(`${ID_PREFIXES.message}_${position}`, status, parts);
}

function printPart(block: AnswerBlock, dropped: Set<DroppedField>): readonly JsonObject[] {
  if (block.kind === "refusal") return [refusalPart(block.text)];
  if (block.kind !== "text") return [];
  const annotations = block.citations.flatMap((citation) => {
    const printed = printCitation(citation, block.text);
    if (printed === null) dropped.add("citations_dropped");
    return printed === null ? [] : [printed];
  });
  return [outputTextPart(block.text, annotations, block.logprobs.map(printLogprob))];
}
