import type { AssistantTurn, Turn } from "../../canon/generate/message.ts";

/**
 * Whether the request goes on with an answer that the model began without signed reasoning: its tools have answered, and the first thing that
 * it said after the last user's message is not reasoning. Models that think within a budget refuse to think in the middle of such an answer
 * ("Expected `thinking` or `redacted_thinking`, but found `tool_use`": BerriAI/litellm#9020, pydantic/pydantic-ai#2040).
 */
export function continuesUnthought(turns: readonly Turn[]): boolean {
  let begun: AssistantTurn | null = null;
  let calls = false;
  let isAnsweringTools = false;
  for (const turn of turns) {
    if (turn.role === "assistant") {
      begun ??= turn;
      isAnsweringTools = false;
    } else if (turn.role === "tool") {
      calls = true;
      isAnsweringTools = true;
    } else if (turn.role === "user" && !isAnsweringTools) {
      // A user's message ends the answer, unless it is sent in one message with results of tools.
      begun = null;
      calls = false;
    }
  }
  if (begun === null || !calls) return false;
  // Unsigned reasoning is left out of the history.
  const first = begun.content.find((part) => part.kind !== "reasoning" || part.signature !== null);
  return first?.kind !== "reasoning";
}
