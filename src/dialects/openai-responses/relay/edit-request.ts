import type { RequestEdits } from "../../../canon/decision.ts";
import { readSignature } from "../../../canon/generate/signature.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";
import type { InferenceRequest } from "../../../canon/request.ts";
import type { EndpointRow, ProviderRow, UnknownFields } from "../../../canon/table.ts";
import type { EditedRequest } from "../../dialect.ts";
import { editedBody } from "../../edited-body.ts";
import { ENCRYPTED_REASONING, MINIMUM_OUTPUT_TOKENS, NATIVE_FAMILY, RESPONSES_FIELDS } from "../fields.ts";
import { askedFormat } from "../response-format.ts";

/**
 * The caller's body as the provider gets it: another model name, `store: false` (the provider's own default is to keep answers, protocols.md
 * §0.7), our own and the identity members taken out, the alias of `text.format` in its place, bare signatures, and what policies oblige us to.
 * Everything else travels as it came, members of nested objects included.
 */
export function editResponsesRequest(
  request: InferenceRequest,
  endpoint: EndpointRow,
  provider: ProviderRow,
  mode: UnknownFields,
  edits: RequestEdits,
): EditedRequest {
  const { body, stripped } = editedBody(RESPONSES_FIELDS, request, endpoint, mode, edits);
  body["store"] = false;
  const found = askedFormat(request.body);
  if (found !== null && "format" in found && found.path === "response_format") {
    const { text } = request.body;
    body["text"] = { ...(isJsonObject(text) ? text : {}), format: found.format };
  }
  if (provider.flags.includes("no_include")) leaveOutSealing(body, stripped);
  body["input"] = withBareSignatures(body["input"]);
  const limit = edits.maxOutputTokens;
  if (limit !== null) {
    const asked = body["max_output_tokens"];
    const wanted = typeof asked === "number" ? Math.min(asked, limit) : limit;
    body["max_output_tokens"] = Math.max(wanted, MINIMUM_OUTPUT_TOKENS);
  }
  return { body, stripped, headers: [] };
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

/** Our tag says who can read a signature; the provider knows only the signature. The list is copied only where there is a tag. */
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
  const { signature } = readSignature(text, NATIVE_FAMILY);
  return signature === text ? item : { ...item, encrypted_content: signature };
}
