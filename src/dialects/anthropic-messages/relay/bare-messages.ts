import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";
import { isUnsigned, readSigned, SIGNATURE_MEMBERS } from "../signed-reasoning.ts";
import { typeOf } from "../type-of.ts";

interface BareMessages {
  readonly messages: JsonValue | undefined;
  /** Whether reasoning was left out: another protocol's, which nobody had signed. */
  readonly dropped: boolean;
}

/**
 * The messages with their signatures as the provider made them: the tags that other protocols' answers had are taken off. The decision has
 * made sure that the endpoint can read what is left. Messages that need no change are given on as they are.
 */
export function bareMessages(messages: JsonValue | undefined): BareMessages {
  if (!Array.isArray(messages)) return { messages, dropped: false };
  let dropped = false;
  let changed = false;
  const bare = messages.map((message: JsonValue): JsonValue => {
    if (!isJsonObject(message) || message["role"] !== "assistant" || !Array.isArray(message["content"])) return message;
    const content = bareContent(message["content"]);
    if (content === null) return message;
    changed = true;
    dropped ||= content.dropped;
    return { ...message, content: content.blocks };
  });
  return { messages: changed ? bare : messages, dropped };
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
  const type = typeOf(block);
  const member = Object.hasOwn(SIGNATURE_MEMBERS, type) ? SIGNATURE_MEMBERS[type] : undefined;
  if (member === undefined) return block;
  const written = block[member];
  if (isUnsigned(written)) return null;
  const signed = readSigned(written);
  return signed === null || signed.signature === written ? block : { ...block, [member]: signed.signature };
}
