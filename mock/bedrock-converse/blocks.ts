import { isJsonObject, type JsonObject } from "../json.ts";
import {
  checkMembers,
  isBoolean,
  isFilledText,
  isList,
  isObject,
  isText,
  memberTable,
  oneOf,
  textAt,
  type Check,
  type MemberTable,
} from "../member-table.ts";
import { isSealed, isSigned } from "../model/signature.ts";
import { invalid, type Problem } from "../problem.ts";
import { wordingAt } from "./error.ts";

/** Where a block stands. */
export type Holder = "user" | "assistant" | "system" | "toolResult" | "tools";

export interface Block {
  /** The one member that says what the block is. */
  readonly kind: string;
  readonly value: unknown;
}

export const isIdentifier: Check = (value) => typeof value === "string" && /^[a-zA-Z0-9_-]{1,64}$/.test(value);
export const IDENTIFIER = "a string that satisfies the pattern [a-zA-Z0-9_-]{1,64}";

/** As the reference says; recorded traffic shows that underscores are taken as well. */
const isDocumentName: Check = (value) =>
  typeof value === "string" && /^[\w()[\]\s-]{1,200}$/.test(value) && !/\s\s/.test(value);

interface Kind {
  readonly holders: readonly Holder[];
  /** `null` for what is taken as it is. */
  readonly members: { readonly table: MemberTable; readonly required: readonly string[] } | null;
}

const imageFormat = oneOf("png", "jpeg", "gif", "webp");
const documentFormat = oneOf("pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md");

const KINDS: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  ["text", { holders: ["user", "assistant", "system", "toolResult"], members: null }],
  [
    "cachePoint",
    {
      holders: ["user", "assistant", "system", "tools"],
      members: {
        table: memberTable(["type", "'default'", oneOf("default")], ["ttl", "'5m' or '1h'", oneOf("5m", "1h")]),
        required: ["type"],
      },
    },
  ],
  [
    "image",
    {
      holders: ["user", "toolResult"],
      members: {
        table: memberTable(
          ["format", "'png', 'jpeg', 'gif' or 'webp'", imageFormat],
          ["source", "a structure", isObject],
        ),
        required: ["format", "source"],
      },
    },
  ],
  [
    "document",
    {
      holders: ["user", "toolResult"],
      members: {
        table: memberTable(
          ["format", "a known format of documents", documentFormat],
          [
            "name",
            "of alphanumeric characters, whitespace (no more than one in a row), hyphens, parentheses and square brackets",
            isDocumentName,
          ],
          ["source", "a structure", isObject],
          ["context", "a string", isText],
          ["citations", "a structure", isObject],
        ),
        required: ["name", "source"],
      },
    },
  ],
  [
    "audio",
    {
      holders: ["user"],
      members: {
        table: memberTable(["format", "a string", isText], ["source", "a structure", isObject]),
        required: ["format", "source"],
      },
    },
  ],
  [
    "toolUse",
    {
      holders: ["assistant"],
      members: {
        table: memberTable(
          ["toolUseId", IDENTIFIER, isIdentifier],
          ["name", IDENTIFIER, isIdentifier],
          ["input", "a JSON object", isObject],
          ["type", "a string", isText],
        ),
        required: ["toolUseId", "name", "input"],
      },
    },
  ],
  [
    "toolResult",
    {
      holders: ["user", "assistant"],
      members: {
        table: memberTable(
          ["toolUseId", IDENTIFIER, isIdentifier],
          ["content", "a list", isList],
          ["status", "'success' or 'error'", oneOf("success", "error")],
          ["type", "a string", isText],
        ),
        required: ["toolUseId", "content"],
      },
    },
  ],
  [
    "reasoningContent",
    {
      holders: ["assistant"],
      members: {
        table: memberTable(["reasoningText", "a structure", isObject], ["redactedContent", "a blob", isFilledText]),
        required: [],
      },
    },
  ],
  [
    "toolSpec",
    {
      holders: ["tools"],
      members: {
        table: memberTable(
          ["name", IDENTIFIER, isIdentifier],
          ["description", "a string of at least 1 character", isFilledText],
          ["inputSchema", "a structure", isObject],
          ["strict", "a boolean", isBoolean],
        ),
        required: ["name", "inputSchema"],
      },
    },
  ],
  ["systemTool", { holders: ["tools"], members: null }],
  ["citationsContent", { holders: ["assistant"], members: null }],
  ["guardContent", { holders: ["user", "system"], members: null }],
  ["video", { holders: ["user", "toolResult"], members: null }],
  ["json", { holders: ["toolResult"], members: null }],
  ["searchResult", { holders: ["user", "toolResult"], members: null }],
]);

/** Checks one block as Bedrock does: it is of exactly one kind, that kind may stand here, and its members are those of the kind. */
export function readBlock(value: unknown, holder: Holder, path: string): Block | Problem {
  const known = isJsonObject(value) ? Object.entries(value) : [];
  const [[kind, content] = ["", null], ...more] = known;
  const facts = KINDS.get(kind);
  if (facts === undefined || more.length > 0 || !facts.holders.includes(holder))
    return invalid(path, `A block must have exactly one member, of those that may stand in ${holder}.`);
  const at = `${path}.${kind}`;
  if (facts.members !== null) {
    if (!isJsonObject(content)) return invalid(at, "Member must be a structure");
    const problem =
      checkMembers(content, { ...facts.members, lenient: false }, wordingAt(at)) ?? checkSource(content, at);
    if (problem !== null) return problem;
  }
  return checkContent(kind, content, at) ?? { kind, value: content };
}

function checkContent(kind: string, content: unknown, at: string): Problem | null {
  if (kind === "text")
    return typeof content === "string" && content.trim() !== ""
      ? null
      : invalid(at, "The text field in the ContentBlock object is blank. Add text to the text field, and try again.");
  if (kind === "reasoningContent" && isJsonObject(content)) return checkReasoning(content, at);
  return null;
}

function checkReasoning({ reasoningText, redactedContent }: JsonObject, at: string): Problem | null {
  if (typeof redactedContent === "string") {
    const sealed = Buffer.from(redactedContent, "base64").toString();
    return isSealed("redacted-content", sealed) ? null : invalid(at, "Invalid `data` in `redacted_thinking` block");
  }
  const said = isJsonObject(reasoningText) ? reasoningText : {};
  return isSigned("reasoning-content", textAt(said, "text"), said["signature"])
    ? null
    : invalid(at, "Invalid `signature` in `thinking` block");
}

const isBase64: Check = (value) => typeof value === "string" && /^[A-Za-z0-9+/]+={0,2}$/.test(value);
const SOURCE = memberTable(
  ["bytes", "a blob", isBase64],
  ["s3Location", "a structure", isObject],
  ["text", "a string", isFilledText],
  ["content", "a list", isList],
);

/** Content comes as bytes, never from an address on the internet. */
function checkSource({ source }: JsonObject, at: string): Problem | null {
  if (!isJsonObject(source)) return null;
  const problem = checkMembers(source, { table: SOURCE, required: [], lenient: false }, wordingAt(`${at}.source`));
  if (problem !== null) return problem;
  return Object.keys(source).length === 1 ? null : invalid(`${at}.source`, "Exactly one member must be set");
}
