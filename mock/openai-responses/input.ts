import { isJsonObject, type JsonObject } from "../json.ts";
import {
  checkMembers,
  isBoolean,
  isFilledText,
  isList,
  isObject,
  isText,
  isTextOrList,
  memberTable,
  oneOf,
  textAt,
  type MemberTable,
} from "../member-table.ts";
import { isSealed } from "../model/signature.ts";
import { invalid, type Problem } from "../problem.ts";
import { INPUT_PARTS, OUTPUT_PARTS, readContent } from "./parts.ts";
import { missing, unsupported, wordingAt } from "./wording.ts";

/** What the answer depends on; the texts themselves are not kept. */
export interface Input {
  /** Items. */
  readonly messages: number;
  /** Estimated: four characters a token, and four tokens an item. */
  readonly tokens: number;
  /** The input ends with the result of a tool. */
  readonly endsWithToolResult: boolean;
}

interface Kind {
  readonly table: MemberTable;
  readonly required: readonly string[];
  /** Beginning of the identifiers of such items. */
  readonly prefix: string | null;
}

const TYPE = ["type", "a string", isText] as const;
const ID = ["id", "a string", isFilledText] as const;
const STATUS = [
  "status",
  "in_progress, completed or incomplete",
  oneOf("in_progress", "completed", "incomplete"),
] as const;
const CALL_ID = ["call_id", "a string", isFilledText] as const;
const NAME = ["name", "a string", isFilledText] as const;
const CALLER = [
  ["namespace", "a string", isText],
  ["caller", "an object", isObject],
  ["async", "a boolean", isBoolean],
] as const;
const OUTPUT = ["output", "a string or a list of parts", isTextOrList] as const;

const KINDS: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  [
    "message",
    {
      required: ["role", "content"],
      prefix: "msg",
      table: memberTable(
        TYPE,
        ID,
        STATUS,
        ["role", "user, assistant, system or developer", oneOf("user", "assistant", "system", "developer")],
        ["content", "a string or a list of parts", isTextOrList],
        ["phase", "commentary or final_answer", oneOf("commentary", "final_answer")],
      ),
    },
  ],
  [
    "reasoning",
    {
      required: ["summary"],
      prefix: "rs",
      table: memberTable(
        TYPE,
        ID,
        STATUS,
        ["summary", "a list", isList],
        ["content", "a list", isList],
        ["encrypted_content", "a string", isText],
      ),
    },
  ],
  [
    "function_call",
    {
      required: ["call_id", "name", "arguments"],
      prefix: "fc",
      table: memberTable(TYPE, ID, STATUS, CALL_ID, NAME, ["arguments", "a string", isText], ...CALLER),
    },
  ],
  [
    "custom_tool_call",
    {
      required: ["call_id", "name", "input"],
      prefix: "ctc",
      table: memberTable(TYPE, ID, STATUS, CALL_ID, NAME, ["input", "a string", isText], ...CALLER),
    },
  ],
  [
    "function_call_output",
    {
      required: ["call_id", "output"],
      prefix: null,
      table: memberTable(TYPE, ID, STATUS, CALL_ID, NAME, OUTPUT, ...CALLER),
    },
  ],
  [
    "custom_tool_call_output",
    {
      required: ["call_id", "output"],
      prefix: null,
      table: memberTable(TYPE, ID, STATUS, CALL_ID, NAME, OUTPUT, ...CALLER),
    },
  ],
]);

/** Items of tools that OpenAI runs or defines, and others that say nothing to the simulated model; taken as they are. */
const TAKEN: ReadonlySet<string> = new Set([
  "file_search_call",
  "computer_call",
  "computer_call_output",
  "web_search_call",
  "tool_search_call",
  "tool_search_output",
  "additional_tools",
  "configuration_update",
  "compaction",
  "compaction_trigger",
  "image_generation_call",
  "code_interpreter_call",
  "local_shell_call",
  "local_shell_call_output",
  "shell_call",
  "shell_call_output",
  "apply_patch_call",
  "apply_patch_call_output",
  "mcp_list_tools",
  "mcp_approval_request",
  "mcp_approval_response",
  "mcp_call",
  "program",
  "program_output",
]);

/**
 * Checks `input` as OpenAI does: members, parts, sealed reasoning, and that calls and results belong together.
 *
 * @param stores whether the request leaves storing on, so that items may be known by their identifiers alone.
 */
export function readInput(input: unknown, stores: boolean): Input | Problem {
  if (typeof input === "string")
    return { messages: 1, tokens: Math.ceil(input.length / 4) + 4, endsWithToolResult: false };
  const items: readonly unknown[] = Array.isArray(input) ? input : [];
  if (items.length === 0) return invalid("input", "'input' must hold at least one item.");
  let tokens = items.length * 4;
  for (const [index, item] of items.entries()) {
    const read = readItem(item, `input[${index}]`, stores);
    if ("status" in read) return read;
    tokens += read.tokens;
  }
  const objects = items.filter(isJsonObject);
  const problem = checkCalls(objects) ?? checkReasoning(objects);
  if (problem !== null) return problem;
  const last = objects.at(-1)?.["type"];
  return {
    messages: items.length,
    tokens,
    endsWithToolResult: last === "function_call_output" || last === "custom_tool_call_output",
  };
}

function readItem(item: unknown, at: string, stores: boolean): { readonly tokens: number } | Problem {
  if (!isJsonObject(item)) return invalid(at, `Invalid type for '${at}': expected an object.`, "invalid_type");
  // Clients leave the type of messages out.
  const type = item["type"] ?? (Object.hasOwn(item, "role") ? "message" : null);
  if (type === null) return missing(`${at}.type`);
  if (type === "item_reference")
    return { ...invalid("input", `The item referred to at '${at}' was not found.`), status: 404 };
  if (typeof type !== "string") return unsupported(`${at}.type`, [...KINDS.keys(), ...TAKEN]);
  if (TAKEN.has(type)) return { tokens: Math.ceil(JSON.stringify(item).length / 4) };
  const kind = KINDS.get(type);
  if (kind === undefined) return unsupported(`${at}.type`, [...KINDS.keys(), ...TAKEN]);
  const problem = checkMembers(item, { ...kind, lenient: false }, wordingAt(at)) ?? checkId(item, kind, at);
  if (problem !== null) return problem;
  switch (type) {
    case "message":
      return readContent(item["content"], item["role"] === "assistant" ? OUTPUT_PARTS : INPUT_PARTS, `${at}.content`);
    case "reasoning":
      return checkSeal(item, at, stores) ?? { tokens: 0 };
    case "function_call_output":
    case "custom_tool_call_output":
      return readContent(item["output"], INPUT_PARTS, `${at}.output`);
    default:
      return { tokens: Math.ceil(JSON.stringify(item).length / 4) };
  }
}

function checkId(item: JsonObject, { prefix }: Kind, at: string): Problem | null {
  const id = item["id"];
  if (prefix === null || typeof id !== "string" || id.startsWith(prefix)) return null;
  return invalid(`${at}.id`, `Invalid '${at}.id': expected an ID that begins with '${prefix}'.`, "invalid_value");
}

/** Reasoning comes back sealed by the provider that reasoned, or by the identifier of an item that it has stored. */
function checkSeal(item: JsonObject, at: string, stores: boolean): Problem | null {
  const sealed = item["encrypted_content"] ?? null;
  if (sealed !== null) {
    return isSealed("encrypted-reasoning", sealed)
      ? null
      : invalid(
          null,
          `The encrypted content for the item at '${at}' could not be verified. Reason: Encrypted content could not be decrypted or parsed.`,
          "invalid_encrypted_content",
        );
  }
  if (stores && typeof item["id"] === "string" && /^rs_mock_\d+_\d+$/.test(item["id"])) return null;
  return {
    ...invalid(
      "input",
      `The item at '${at}' was not found. Items are not persisted when 'store' is set to false; send its 'encrypted_content', or remove it from the input.`,
    ),
    status: 404,
  };
}

/** Every result answers a call before it, and every call that is the caller's to answer has its result. */
function checkCalls(items: readonly JsonObject[]): Problem | null {
  const called = new Map<string, number>();
  const open = new Map<string, number>();
  for (const [index, item] of items.entries()) {
    const type = textAt(item, "type");
    const id = textAt(item, "call_id");
    const isOwnCall = type === "function_call" || type === "custom_tool_call";
    if (isOwnCall) open.set(id, index);
    if (!type.endsWith("_output")) called.set(id, index);
    else if (type === "function_call_output" || type === "custom_tool_call_output") {
      if (!called.has(id)) return invalid("input", `No tool call found for the output at 'input[${index}]'.`);
      open.delete(id);
    }
  }
  const [unanswered] = open.values();
  return unanswered === undefined
    ? null
    : invalid("input", `No tool output found for the call at 'input[${unanswered}]'.`);
}

/** Reasoning that carries its identifier belongs to what the model did next. */
function checkReasoning(items: readonly JsonObject[]): Problem | null {
  for (const [index, item] of items.entries()) {
    if (item["type"] !== "reasoning" || typeof item["id"] !== "string") continue;
    const next = items[index + 1];
    const isFollowed =
      next !== undefined && !textAt(next, "type").endsWith("_output") && (next["role"] ?? "assistant") === "assistant";
    if (!isFollowed)
      return invalid(
        "input",
        `The item at 'input[${index}]' of type 'reasoning' was provided without its required following item.`,
      );
  }
  return null;
}
