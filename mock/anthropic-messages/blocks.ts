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
  orNull,
  textAt,
  type Check,
  type MemberTable,
} from "../member-table.ts";
import { isSealed, isSigned } from "../model/signature.ts";
import { invalid, type Problem } from "../problem.ts";
import { wordingAt } from "./error.ts";
import type { Version } from "./version.ts";

/** Where a block stands: in a message of a role, or within a tool's result. */
export type Holder = "user" | "assistant" | "system" | "tool_result";

interface Kind {
  readonly holders: readonly Holder[];
  /** Every member; `null` for blocks of tools that Anthropic runs, which are taken as they are. */
  readonly table: MemberTable | null;
  readonly required: readonly string[];
}

const TYPE = ["type", "a string", isText] as const;
const MARK = ["cache_control", "an object", orNull(isObject)] as const;
const isIdentifier: Check = (value) => typeof value === "string" && /^[a-zA-Z0-9_-]+$/.test(value);
const IDENTIFIER = "a string that matches '^[a-zA-Z0-9_-]+$'";

const KINDS: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  [
    "text",
    {
      holders: ["user", "assistant", "system", "tool_result"],
      required: ["text"],
      table: memberTable(TYPE, MARK, ["text", "a valid string", isText], ["citations", "a valid list", orNull(isList)]),
    },
  ],
  [
    "image",
    {
      holders: ["user", "tool_result"],
      required: ["source"],
      table: memberTable(
        TYPE,
        MARK,
        ["source", "an object", isObject],
        ["transformations", "an object", orNull(isObject)],
      ),
    },
  ],
  [
    "document",
    {
      holders: ["user", "assistant", "tool_result"],
      required: ["source"],
      table: memberTable(
        TYPE,
        MARK,
        ["source", "an object", isObject],
        ["citations", "an object", orNull(isObject)],
        ["context", "a valid string", orNull(isText)],
        ["title", "a valid string", orNull(isText)],
      ),
    },
  ],
  [
    "thinking",
    {
      holders: ["assistant"],
      required: ["thinking", "signature"],
      table: memberTable(TYPE, ["thinking", "a valid string", isText], ["signature", "a valid string", isText]),
    },
  ],
  [
    "redacted_thinking",
    { holders: ["assistant"], required: ["data"], table: memberTable(TYPE, ["data", "a valid string", isText]) },
  ],
  [
    "tool_use",
    {
      holders: ["assistant"],
      required: ["id", "name", "input"],
      table: memberTable(
        TYPE,
        MARK,
        ["id", IDENTIFIER, isIdentifier],
        ["name", "a valid string", isFilledText],
        ["input", "an object", isObject],
        ["caller", "an object", isObject],
        ["toolset_name", "a valid string", orNull(isText)],
      ),
    },
  ],
  [
    "tool_result",
    {
      holders: ["user"],
      required: ["tool_use_id"],
      table: memberTable(
        TYPE,
        MARK,
        ["tool_use_id", IDENTIFIER, isIdentifier],
        ["content", "a valid string or a list of blocks", isTextOrList],
        ["is_error", "a valid boolean", isBoolean],
        ["toolset_name", "a valid string", orNull(isText)],
      ),
    },
  ],
  ["search_result", { holders: ["user", "tool_result"], required: ["content"], table: null }],
  ["tool_reference", { holders: ["tool_result"], required: ["tool_name"], table: null }],
  ["container_upload", { holders: ["user", "assistant"], required: ["file_id"], table: null }],
  ["server_tool_use", { holders: ["assistant"], required: ["id", "name"], table: null }],
  ["mcp_tool_use", { holders: ["assistant"], required: ["id", "name"], table: null }],
  ["compaction", { holders: ["assistant"], required: [], table: null }],
  ["tool_addition", { holders: ["system"], required: [], table: null }],
  ["tool_removal", { holders: ["system"], required: [], table: null }],
]);

/** The results of tools that Anthropic runs: `web_search_tool_result` and many others. */
const SERVER_RESULT: Kind = { holders: ["assistant"], required: ["tool_use_id"], table: null };

/** Tokens counted for an image or a document. */
const TOKENS_PER_ATTACHMENT = 100;

/** A block's type and its estimated tokens. */
export interface Block {
  readonly type: string;
  readonly tokens: number;
}

/** Checks one block as Anthropic does: its members, its signature, and what it holds. */
export function readBlock(value: unknown, holder: Holder, path: string, version: Version): Block | Problem {
  if (!isJsonObject(value)) return invalid(path, "Input should be an object");
  const type = textAt(value, "type");
  const kind = KINDS.get(type) ?? (/^[a-z_]+_tool_result$/.test(type) ? SERVER_RESULT : undefined);
  if (kind === undefined || !kind.holders.includes(holder)) {
    const expected = [...KINDS].filter(([, known]) => known.holders.includes(holder)).map(([name]) => name);
    return invalid(
      path,
      `Input tag found using 'type' does not match any of the expected tags: ${expected.join(", ")}`,
    );
  }
  const at = `${path}.${type}`;
  const members = { table: kind.table ?? new Map(), required: kind.required, lenient: kind.table === null };
  const problem = checkMembers(value, members, wordingAt(at)) ?? checkContent(value, type, holder, at, version);
  return problem ?? sizeOf(value, type, at, version);
}

function checkContent(block: JsonObject, type: string, holder: Holder, at: string, version: Version): Problem | null {
  switch (type) {
    case "text":
      return checkText(block, holder, at, version);
    case "image":
      return checkSource(block["source"], IMAGE_SOURCES, `${at}.source`);
    case "document":
      return version !== "2023-06-01" && holder === "assistant"
        ? invalid(at, `document blocks are not supported in assistant messages with anthropic-version ${version}`)
        : checkSource(block["source"], DOCUMENT_SOURCES, `${at}.source`);
    case "thinking":
      return isSigned("thinking", textAt(block, "thinking"), block["signature"])
        ? null
        : invalid(at.slice(0, -".thinking".length), "Invalid `signature` in `thinking` block");
    case "redacted_thinking":
      return isSealed("redacted-thinking", block["data"])
        ? null
        : invalid(at.slice(0, -".redacted_thinking".length), "Invalid `data` in `redacted_thinking` block");
    default:
      return null;
  }
}

function checkText(block: JsonObject, holder: Holder, at: string, version: Version): Problem | null {
  const text = textAt(block, "text");
  if (text === "") return invalid(at, "text content blocks must be non-empty");
  if (holder === "user" && text.trim() === "")
    return invalid(at, "text content blocks must contain non-whitespace text");
  const citations: unknown = block["citations"];
  const hasCitations = Array.isArray(citations) && citations.length > 0;
  return version !== "2023-06-01" && holder === "user" && hasCitations
    ? invalid(`${at}.citations`, `not supported on user text with anthropic-version ${version}; leave it out`)
    : null;
}

const isImageType = oneOf("image/jpeg", "image/png", "image/gif", "image/webp");
const IMAGE_TYPES = "'image/jpeg', 'image/png', 'image/gif' or 'image/webp'";
const URL_SOURCE = memberTable(TYPE, ["url", "an address with https", (value) => /^https?:\/\/./.test(String(value))]);
const FILE_SOURCE = memberTable(TYPE, ["file_id", "a valid string", isFilledText]);
const isBase64: Check = (value) => typeof value === "string" && /^[A-Za-z0-9+/]+={0,2}$/.test(value);

const IMAGE_SOURCES: ReadonlyMap<string, MemberTable> = new Map([
  ["base64", memberTable(TYPE, ["media_type", IMAGE_TYPES, isImageType], ["data", "base64", isBase64])],
  ["url", URL_SOURCE],
  ["file", FILE_SOURCE],
]);

const DOCUMENT_SOURCES: ReadonlyMap<string, MemberTable> = new Map([
  [
    "base64",
    memberTable(TYPE, ["media_type", "'application/pdf'", oneOf("application/pdf")], ["data", "base64", isBase64]),
  ],
  [
    "text",
    memberTable(TYPE, ["media_type", "'text/plain'", oneOf("text/plain")], ["data", "a valid string", isFilledText]),
  ],
  ["content", memberTable(TYPE, ["content", "a valid string or a list of blocks", isTextOrList])],
  ["url", URL_SOURCE],
  ["file", FILE_SOURCE],
]);

function checkSource(source: unknown, sources: ReadonlyMap<string, MemberTable>, at: string): Problem | null {
  const kind = isJsonObject(source) && typeof source["type"] === "string" ? source["type"] : "";
  const table = sources.get(kind);
  if (!isJsonObject(source) || table === undefined)
    return invalid(`${at}.type`, `Input should be one of ${[...sources.keys()].join(", ")}`);
  return checkMembers(source, { table, required: [...table.keys()], lenient: false }, wordingAt(`${at}.${kind}`));
}

function sizeOf(block: JsonObject, type: string, at: string, version: Version): Block | Problem {
  if (type === "image" || type === "document") return { type, tokens: TOKENS_PER_ATTACHMENT };
  const text = block[type === "thinking" ? "thinking" : "text"];
  if (typeof text === "string") return { type, tokens: Math.ceil(text.length / 4) };
  if (type !== "tool_result") return { type, tokens: Math.ceil(JSON.stringify(block).length / 4) };
  const content: unknown = block["content"];
  if (!Array.isArray(content)) return { type, tokens: Math.ceil(textAt(block, "content").length / 4) };
  const parts: readonly unknown[] = content;
  let tokens = 0;
  for (const [index, value] of parts.entries()) {
    const part = readBlock(value, "tool_result", `${at}.content.${index}`, version);
    if ("status" in part) return part;
    if (block["is_error"] === true && part.type !== "text")
      return invalid(`${at}.content`, "all content must be type `text` if `is_error` is true");
    tokens += part.tokens;
  }
  return { type, tokens };
}
