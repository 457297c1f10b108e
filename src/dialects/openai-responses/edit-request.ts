import { editSet } from "../../canon/generate/edit.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import type { Relay } from "../dialect.ts";
import { editedBody } from "../relay.ts";
import { ENCRYPTED_REASONING, MINIMUM_OUTPUT_TOKENS, RESPONSES_FIELDS } from "./fields.ts";
import { reasoningPart } from "./items.ts";
import { requestedFormat } from "./response-format.ts";
import { readSealedReasoning } from "./sealed-reasoning.ts";

const STORE_FALSE_SENT = editSet("store_false_sent");
const MEMBER_REWRITTEN = editSet("member_rewritten");
const OUTPUT_LIMIT_SET = editSet("output_limit_set");
const ENCRYPTED_REASONING_REQUESTED = editSet("encrypted_reasoning_requested");
const SIGNATURES_RESTORED = editSet("signatures_restored");

/**
 * The caller's body as the provider gets it: another model name, `store: false` (the provider keeps
 * answers by default, docs/protocols.md#stored-state), without our own and the identity members,
 * `text.format` instead of its alias, bare signatures, and the edits of obligations. Everything
 * else is unchanged, members of nested objects included.
 */
export const editResponsesRequest: Relay["edit"] = (request, endpoint, provider, mode, edits) => {
  const edited = editedBody(RESPONSES_FIELDS, request, endpoint, mode, edits);
  const { body, stripped } = edited;
  let made = edited.edits;
  if (body["store"] !== false) made |= STORE_FALSE_SENT;
  body["store"] = false;
  const found = requestedFormat(request.body);
  if (found !== null && "format" in found && found.path === "response_format") {
    const { text } = request.body;
    body["text"] = { ...(isJsonObject(text) ? text : {}), format: found.format };
    made |= MEMBER_REWRITTEN;
  }
  if (provider.flags.includes("no_include")) leaveOutSealing(body, stripped);
  else if (
    request.body["store"] !== false &&
    endpoint.capabilities.includes("reasoning") &&
    askForSealing(body)
  )
    made |= ENCRYPTED_REASONING_REQUESTED;
  const { input } = body;
  body["input"] = withBareSignatures(input);
  if (body["input"] !== input) made |= SIGNATURES_RESTORED;
  const limit = edits.maxOutputTokens;
  if (limit !== null) {
    const requested = body["max_output_tokens"];
    const wanted = typeof requested === "number" ? Math.min(requested, limit) : limit;
    body["max_output_tokens"] = Math.max(wanted, MINIMUM_OUTPUT_TOKENS);
    if (body["max_output_tokens"] !== requested) made |= OUTPUT_LIMIT_SET;
  }
  return { body, stripped, edits: made, headers: [] };
};

/**
 * Requests encrypted reasoning where the caller has not turned storing off itself: a client that
 * replays reasoning by its id would be answered 404.
 * @returns whether the caller had not requested it. A model that does not reason refuses the
 * option.
 */
function askForSealing(body: Record<string, JsonValue | undefined>): boolean {
  const { include } = body;
  const wishes: readonly JsonValue[] = Array.isArray(include) ? include : [];
  if (wishes.includes(ENCRYPTED_REASONING)) return false;
  body["include"] = [...wishes, ENCRYPTED_REASONING];
  return true;
}

/** Takes out the wish for encrypted reasoning; the other wishes of the list stay. */
function leaveOutSealing(body: Record<string, JsonValue | undefined>, stripped: string[]): void {
  const { include } = body;
  if (!Array.isArray(include) || !include.includes(ENCRYPTED_REASONING)) return;
  const rest = include.filter((wish: JsonValue) => wish !== ENCRYPTED_REASONING);
  if (rest.length === 0) delete body["include"];
  else body["include"] = rest;
  stripped.push("include");
}

/**
 * Our tag says who can read a signature; the provider knows only the signature. The list is copied
 * only where there is a tag.
 */
function withBareSignatures(input: JsonValue | undefined): JsonValue | undefined {
  if (!Array.isArray(input)) return input;
  let copy: JsonValue[] | null = null;
  for (const [index, item] of input.entries()) {
    if (!isJsonObject(item)) continue;
    const bare = withBareSignature(item);
    if (bare !== item) (copy ??= [...input])[index] = bare;
  }
  return copy ?? input;
}

function withBareSignature(item: JsonObject): JsonObject {
  const text = item["encrypted_content"];
  if (typeof text !== "string") return item;
  const { signature, text: sealed } = readSealedReasoning(text);
  if (signature === text) return item;
  const bare = { ...item, encrypted_content: signature };
  return sealed === "" || Array.isArray(item["content"])
    ? bare
    : { ...bare, content: [reasoningPart(sealed)] };
}
