import { editSet } from "../../canon/generate/edit.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { BETA_HEADER, type ProtocolHeaders } from "../../canon/request.ts";
import type { ProviderRow } from "../../canon/table.ts";
import type { Relay } from "../dialect.ts";
import { editedBody } from "../relay.ts";
import { fieldsOf, VERSIONS } from "./fields.ts";
import { budgetUnder, isUnsigned, readSigned, SIGNATURE_MEMBERS } from "./reasoning.ts";
import { textOf, numberOrNull } from "../json.ts";

type Body = Record<string, JsonValue | undefined>;

const OUTPUT_LIMIT_SET = editSet("output_limit_set");
const SIGNATURES_RESTORED = editSet("signatures_restored");
const VERSION_REPLACED = editSet("version_replaced");

/**
 * The caller's body as the provider gets it: another model name, bare signatures, our own and the
 * identity members taken out, and what policies oblige us to. Everything else travels as it came,
 * members of nested objects included.
 */
export const editMessagesRequest: Relay["edit"] = (request, endpoint, provider, mode, edits) => {
  const edited = editedBody(fieldsOf(request.shape.operation), request, endpoint, mode, edits);
  const { body, stripped } = edited;
  let made = edited.edits;
  const bare = bareMessages(body["messages"]);
  if (body["messages"] !== bare.messages) made |= SIGNATURES_RESTORED;
  body["messages"] = bare.messages;
  if (bare.dropped) stripped.push("thinking");
  const trimmed = withTrimmedPrefill(body["messages"]);
  if (trimmed !== null) body["messages"] = trimmed;
  if (edits.maxOutputTokens !== null && request.shape.operation === "messages") {
    if (capOutput(body, edits.maxOutputTokens)) made |= OUTPUT_LIMIT_SET;
  }
  const version = sentVersion(request.headers, provider);
  if (version !== (request.headers.version ?? VERSIONS[0])) made |= VERSION_REPLACED;
  const headers = protocolHeaders(request.headers, provider, version, stripped);
  return {
    body,
    stripped,
    edits: made,
    headers,
    dropped: trimmed === null ? [] : ["prefill_trimmed"],
  };
};

/**
 * The version that the caller speaks, and those of its beta flags that the provider's row lists.
 */
function protocolHeaders(
  { betas }: ProtocolHeaders,
  provider: ProviderRow,
  version: string,
  stripped: string[],
): string[] {
  const headers = ["anthropic-version", version];
  const allowed = betas.filter((beta) => provider.betas.includes(beta));
  if (allowed.length > 0) headers.push(BETA_HEADER, allowed.join(","));
  if (allowed.length < betas.length) stripped.push(BETA_HEADER);
  return headers;
}

function sentVersion({ version }: ProtocolHeaders, { flags }: ProviderRow): string {
  return flags.includes("version_2023_06_01_only") ? VERSIONS[0] : (version ?? VERSIONS[0]);
}

/** Lowers the limit, and the budget for thinking with it. Says whether it changed. */
function capOutput(body: Body, cap: number): boolean {
  const { max_tokens, thinking } = body;
  const requested = numberOrNull(max_tokens);
  const limit = Math.min(requested ?? cap, cap);
  body["max_tokens"] = limit;
  const changed = limit !== requested;
  if (!isJsonObject(thinking)) return changed;
  const { budget_tokens } = thinking;
  if (typeof budget_tokens !== "number") return changed;
  body["thinking"] = { ...thinking, budget_tokens: budgetUnder(budget_tokens, requested, limit) };
  return changed;
}

interface BareMessages {
  readonly messages: JsonValue | undefined;
  /** Whether reasoning was left out: another protocol's, which was not signed. */
  readonly dropped: boolean;
}

/**
 * The messages with their signatures as the provider made them: the tags that other protocols'
 * answers had are taken off. The decision has made sure that the endpoint can read what is left.
 * Messages that need no change are given on as they are.
 */
function bareMessages(messages: JsonValue | undefined): BareMessages {
  if (!Array.isArray(messages)) return { messages, dropped: false };
  let dropped = false;
  let changed = false;
  const bare = messages.map((message: JsonValue): JsonValue => {
    if (
      !isJsonObject(message) ||
      message["role"] !== "assistant" ||
      !Array.isArray(message["content"])
    )
      return message;
    const content = bareContent(message["content"]);
    if (content === null) return message;
    changed = true;
    dropped ||= content.dropped;
    return { ...message, content: content.blocks };
  });
  return { messages: changed ? bare : messages, dropped };
}

/**
 * The messages without white space at the end of the answer's given beginning, which the provider
 * refuses ("final assistant content cannot end with trailing whitespace"); `null` where there is
 * none.
 */
function withTrimmedPrefill(messages: JsonValue | undefined): JsonValue[] | null {
  const last = Array.isArray(messages) ? messages.at(-1) : undefined;
  if (!Array.isArray(messages) || !isJsonObject(last) || last["role"] !== "assistant") return null;
  const { content } = last;
  const block = Array.isArray(content) ? content.at(-1) : undefined;
  const text = isJsonObject(block) && block["type"] === "text" ? block["text"] : content;
  if (typeof text !== "string" || text.trimEnd() === text) return null;
  const short = text.trimEnd();
  const trimmed =
    Array.isArray(content) && isJsonObject(block)
      ? [...content.slice(0, -1), { ...block, text: short }]
      : short;
  return [...messages.slice(0, -1), { ...last, content: trimmed }];
}

/** `null` where nothing changes. */
function bareContent(
  content: readonly JsonValue[],
): { readonly blocks: JsonValue[]; readonly dropped: boolean } | null {
  let changed = false;
  const blocks: JsonValue[] = [];
  for (const block of content) {
    const bare = isJsonObject(block) ? bareBlock(block) : block;
    if (bare !== block) changed = true;
    if (bare !== null) blocks.push(bare);
  }
  return changed ? { blocks, dropped: blocks.length < content.length } : null;
}

/** The block itself where it stays as it is; `null` where it is left out. */
function bareBlock(block: JsonObject): JsonObject | null {
  const type = textOf(block["type"]);
  const member = Object.hasOwn(SIGNATURE_MEMBERS, type) ? SIGNATURE_MEMBERS[type] : undefined;
  if (member === undefined) return block;
  const written = block[member];
  if (isUnsigned(written)) return null;
  const signed = readSigned(written);
  return signed === null || signed.signature === written
    ? block
    : { ...block, [member]: signed.signature };
}
