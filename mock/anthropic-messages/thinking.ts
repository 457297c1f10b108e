import { isJsonObject, type JsonObject } from "../json.ts";
import { checkMembers, integer, isText, memberTable, numberOr, oneOf, orNull } from "../member-table.ts";
import { invalid, type Problem } from "../problem.ts";
import { wordingAt } from "./error.ts";
import type { Conversation } from "./messages.ts";
import { hasBeta, type Edition } from "./version.ts";

export interface Thinking {
  /** The request allows thinking. */
  readonly isOn: boolean;
  /** The model does think before this answer. */
  readonly thinks: boolean;
  /** The text of the thinking is not shown, only its signature. */
  readonly isOmitted: boolean;
}

const NONE: Thinking = { isOn: false, thinks: false, isOmitted: false };

const DISPLAY = ["display", "'summarized' or 'omitted'", orNull(oneOf("summarized", "omitted"))] as const;

/** Members of each kind of thinking. */
const KINDS = new Map([
  [
    "enabled",
    memberTable(
      ["type", "a string", isText],
      ["budget_tokens", "greater than or equal to 1024", integer(1024, 1e9)],
      DISPLAY,
    ),
  ],
  ["adaptive", memberTable(["type", "a string", isText], DISPLAY)],
  ["between_tools", memberTable(["type", "a string", isText])],
  ["disabled", memberTable(["type", "a string", isText])],
]);

/** Reads `thinking` and what it does not go together with. */
export function readThinking(body: JsonObject, conversation: Conversation, edition: Edition): Thinking | Problem {
  const thinking = body["thinking"];
  if (!isJsonObject(thinking)) return NONE;
  const kind = typeof thinking["type"] === "string" ? thinking["type"] : "";
  const table = KINDS.get(kind);
  if (table === undefined) return invalid("thinking.type", `Input should be one of ${[...KINDS.keys()].join(", ")}`);
  const required = kind === "enabled" ? ["budget_tokens"] : [];
  const problem = checkMembers(thinking, { table, required, lenient: false }, wordingAt("thinking"));
  if (problem !== null) return problem;
  if (kind === "disabled") return NONE;
  const clash = checkTogether(body, conversation, edition);
  if (clash !== null) return clash;
  return {
    isOn: true,
    thinks: thinksNow(kind, conversation) && !forcesTool(body["tool_choice"]),
    isOmitted: thinking["display"] === "omitted",
  };
}

/**
 * A turn that began without thinking goes on without it: Anthropic turns manual thinking off for such a request, and says nothing. Only
 * adaptive thinking may begin within a turn.
 */
function thinksNow(kind: string, conversation: Conversation): boolean {
  if (kind === "between_tools") return conversation.endsWithToolResult;
  return kind === "adaptive" || !conversation.endsWithToolResult || conversation.turnBeganThinking;
}

function checkTogether(body: JsonObject, conversation: Conversation, edition: Edition): Problem | null {
  const thinking = body["thinking"];
  const budget = isJsonObject(thinking) ? numberOr(thinking["budget_tokens"], 0) : 0;
  // Interleaved thinking spends its budget over a whole turn of several answers.
  if (budget >= numberOr(body["max_tokens"], Infinity) && !hasBeta(edition, "interleaved-thinking"))
    return invalid("max_tokens", "`max_tokens` must be greater than `thinking.budget_tokens`.");
  if (numberOr(body["temperature"], 1) !== 1)
    return invalid("temperature", "`temperature` may only be set to 1 when thinking is enabled.");
  if (Object.hasOwn(body, "top_k")) return invalid("top_k", "`top_k` must be unset when thinking is enabled.");
  if (numberOr(body["top_p"], 1) < 0.95)
    return invalid("top_p", "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.");
  if (isJsonObject(thinking) && thinking["type"] === "enabled" && forcesTool(body["tool_choice"]))
    return invalid("tool_choice", "Thinking may not be enabled when tool_choice forces tool use.");
  return conversation.isPrefilled
    ? invalid("messages", "The final message must not be from the assistant when thinking is enabled.")
    : null;
}

function forcesTool(choice: unknown): boolean {
  return isJsonObject(choice) && (choice["type"] === "any" || choice["type"] === "tool");
}
