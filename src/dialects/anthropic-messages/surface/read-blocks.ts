import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";
import type { RequestReading } from "../../request-reading.ts";
import { readSigned } from "../signed-reasoning.ts";
import { typeOf } from "../type-of.ts";
import { blockFacts, blocksOf, serverToolNeeds, type BlockContext } from "./block-facts.ts";
import { storedFile } from "./refusals.ts";
import { goneUnder, type Version } from "./version.ts";

/** What a list of blocks asks for. Gives the 400 for the first block that cannot go anywhere. */
export function readBlocks(
  blocks: readonly JsonValue[],
  context: BlockContext,
  path: string,
  asked: RequestReading,
  version: Version,
): ServiceError | null {
  for (let index = 0; index < blocks.length; index += 1) {
    const block = blocks[index];
    if (!isJsonObject(block)) continue;
    const problem = readBlock(block, context, `${path}[${index}]`, asked, version);
    if (problem !== null) return problem;
  }
  return null;
}

function readBlock(
  block: JsonObject,
  context: BlockContext,
  path: string,
  asked: RequestReading,
  version: Version,
): ServiceError | null {
  const type = typeOf(block);
  if (type === "container_upload") return storedFile(`${path}.file_id`);
  const facts = blockFacts(type);
  if (facts === null) return unknownBlock(context, path, asked);
  if (facts.needs !== null) asked.need(facts.needs, path);
  if (!facts.contexts.includes(context)) {
    // What a server's tool did is told apart by the call's name; its results have kinds of their own.
    const needs = serverToolNeeds(block["name"]);
    if (type === "server_tool_use" && needs !== null) asked.need(needs, path);
    asked.use("native_messages", path);
    return (
      misplaced(type, context, path, version) ??
      readSource(block["source"], path, asked) ??
      readNested(block["content"], `${path}.content`, asked)
    );
  }
  asked.useUnknown(block, facts.members, path, "native_messages");
  if (!isPlainMark(block["cache_control"])) asked.use("native_messages", `${path}.cache_control`);
  return readKind(type, block, context, path, asked, version);
}

/** An unknown block of the caller's cannot be approved; one that an approved model once said may go back to its own protocol. */
function unknownBlock(context: BlockContext, path: string, asked: RequestReading): ServiceError | null {
  if (context === "assistant") {
    asked.use("native_messages", path);
    return null;
  }
  const sentence = `${path}.type must be one of ${blocksOf(context)}`;
  return invalidRequest("unknown_content_part", sentence, `${path}.type`);
}

function misplaced(type: string, context: BlockContext, path: string, version: Version): ServiceError | null {
  if (type !== "document" || context !== "assistant" || version === "2023-06-01") return null;
  return goneUnder(version, path, "must not be a document in an assistant message");
}

function readKind(
  type: string,
  block: JsonObject,
  context: BlockContext,
  path: string,
  asked: RequestReading,
  version: Version,
): ServiceError | null {
  switch (type) {
    case "text":
      return readCitations(block["citations"], context, path, version);
    case "image":
    case "document":
      if (context === "tool_result") asked.use("tool_result_files", path);
      if (isOn(block["citations"])) asked.use("native_messages", `${path}.citations`);
      return readSource(block["source"], path, asked, type);
    case "thinking":
    case "redacted_thinking": {
      const signed = readSigned(block[type === "thinking" ? "signature" : "data"]);
      if (signed !== null) asked.signed(signed.family, path);
      return null;
    }
    case "tool_use": {
      const { caller } = block;
      const direct = !isJsonObject(caller) || (caller["type"] === "direct" && Object.keys(caller).length === 1);
      if (!direct) asked.use("native_messages", `${path}.caller`);
      return null;
    }
    default: {
      const { content } = block;
      if (!Array.isArray(content)) return null;
      return readBlocks(content, "tool_result", `${path}.content`, asked, version);
    }
  }
}

function readCitations(
  citations: JsonValue | undefined,
  context: BlockContext,
  path: string,
  version: Version,
): ServiceError | null {
  if (context !== "user" || version === "2023-06-01" || !Array.isArray(citations) || citations.length === 0)
    return null;
  return goneUnder(version, `${path}.citations`, "must be empty on a user's text");
}

const URL_FEATURES = { image: "image_url", document: "file_url" } as const;

/** Where the bytes of an image or document come from. Other blocks have a `source` that is a plain word. */
function readSource(
  source: JsonValue | undefined,
  path: string,
  asked: RequestReading,
  kind?: "image" | "document",
): ServiceError | null {
  if (!isJsonObject(source)) return null;
  const context = `${path}.source`;
  if (isFile(source)) return storedFile(`${context}.file_id`);
  if (kind === undefined) return null;
  if (source["type"] === "url") asked.use(URL_FEATURES[kind], context);
  if (!isPlainSource(source, kind)) asked.use("native_messages", context);
  return readNested(source["content"], `${context}.content`, asked);
}

/** Whether canon can take the source in. */
function isPlainSource(source: JsonObject, kind: "image" | "document"): boolean {
  const { type } = source;
  const members = type === "url" ? URL_MEMBERS : VALUE_MEMBERS;
  for (const name in source) if (!members.has(name) && source[name] !== null) return false;
  if (type === "url") return true;
  if (kind === "image") return type === "base64";
  return type === "base64"
    ? source["media_type"] === "application/pdf"
    : type === "text" && (source["media_type"] ?? "text/plain") === "text/plain";
}

const URL_MEMBERS: ReadonlySet<string> = new Set(["type", "url"]);
const VALUE_MEMBERS: ReadonlySet<string> = new Set(["type", "media_type", "data"]);

/** Blocks within a document that is made of blocks: they may hold images and name files like any others. */
function readNested(content: JsonValue | undefined, path: string, asked: RequestReading): ServiceError | null {
  if (!Array.isArray(content)) return null;
  for (const [index, block] of content.entries()) {
    if (!isJsonObject(block)) continue;
    const context = `${path}[${index}]`;
    if (block["type"] === "image") asked.need("image_input", context);
    const { source } = block;
    if (isJsonObject(source) && isFile(source)) return storedFile(`${context}.source.file_id`);
  }
  return null;
}

function isFile(source: JsonObject): boolean {
  return source["type"] === "file" || (source["file_id"] !== undefined && source["file_id"] !== null);
}

function isOn(citations: JsonValue | undefined): boolean {
  return isJsonObject(citations) && citations["enabled"] === true;
}

/** Whether a cache mark is one that canon has. */
export function isPlainMark(mark: JsonValue | undefined): boolean {
  if (!isJsonObject(mark)) return true;
  for (const name in mark) {
    const value = mark[name];
    if (
      name === "type" ? value === "ephemeral" : name === "ttl" && (value === null || value === "5m" || value === "1h")
    )
      continue;
    return false;
  }
  return true;
}
