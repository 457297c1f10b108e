import type { JsonObject } from "../json.ts";
import { objectsAt, textAt } from "../members.ts";
import { TOKENS_PER_ATTACHMENT, tokensOfText, type Conversation } from "../model/conversation.ts";
import { isSealed } from "../model/signature.ts";
import { invalid, type Problem } from "../problem.ts";

const RESULTS: ReadonlySet<unknown> = new Set(["function_call_output", "custom_tool_call_output"]);

/** Reads `input`: a text, or items. Reasoning that another provider sealed is refused. */
export function readInput(body: JsonObject): Conversation | Problem {
  const text = textAt(body, "input");
  if (text !== "")
    return { messages: 1, tokens: tokensOfText(text) + 4, endsWithToolResult: false };
  const items = objectsAt(body, "input");
  const foreign = items.findIndex(isForeign);
  if (foreign !== -1) {
    return invalid(
      null,
      `The encrypted content for the item at 'input[${foreign}]' could not be verified. Reason: Encrypted content could not be decrypted or parsed.`,
      "invalid_encrypted_content",
    );
  }
  return {
    messages: items.length,
    tokens: items.reduce((sum, item) => sum + 4 + tokensOf(item), 0),
    endsWithToolResult: RESULTS.has(items.at(-1)?.type),
  };
}

/** Whether an item is reasoning that no simulated provider sealed. */
function isForeign(item: JsonObject): boolean {
  const sealed = item.encrypted_content ?? null;
  return item.type === "reasoning" && sealed !== null && !isSealed("encrypted-reasoning", sealed);
}

function tokensOf(item: JsonObject): number {
  // Clients omit the type of messages.
  const type = item.type ?? "message";
  if (type === "reasoning") return 0;
  if (type === "message") return tokensOfContent(item, "content");
  return RESULTS.has(type) ? tokensOfContent(item, "output") : tokensOfText(JSON.stringify(item));
}

/** Estimated tokens of a member that holds a text or parts. */
function tokensOfContent(item: JsonObject, name: string): number {
  const parts = objectsAt(item, name).map((part) => part.text ?? part.refusal);
  const tokens = parts.map((text) =>
    typeof text === "string" ? tokensOfText(text) : TOKENS_PER_ATTACHMENT,
  );
  return tokens.reduce((sum, one) => sum + one, tokensOfText(textAt(item, name)));
}
