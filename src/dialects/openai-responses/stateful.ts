import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import { isJsonObject, type JsonObject } from "../../canon/json.ts";

/** What each member that needs a provider's memory requests (docs/protocols.md#stateful-members-of-responses). All are refused on every route, also on relayed ones. */
const STATEFUL_FIELDS: Readonly<Record<string, string>> = {
  store: "asks the provider to keep the answer; this router never does. Send false or leave it out",
  background:
    "asks the provider to keep the answer until it is fetched. Send false or leave it out, and wait or stream",
  previous_response_id: "names an answer kept at a provider; send the whole conversation in input",
  conversation: "names a conversation kept at a provider; send the whole conversation in input",
  prompt: "names a prompt kept at a provider; send its text in instructions or input",
  context_management: "lets the provider rewrite the conversation; shorten input before sending it",
};

/** The 400 for a top-level member that asks somebody to keep content, or names content that somebody has kept. */
export function statefulField(body: JsonObject): ServiceError | null {
  for (const name in STATEFUL_FIELDS) {
    if (!Object.hasOwn(body, name)) continue;
    const value = body[name];
    if (value === undefined || value === null || value === false) continue;
    if (Array.isArray(value) && value.length === 0) continue;
    return stateful(name, STATEFUL_FIELDS[name] ?? "");
  }
  const options = body["prompt_cache_options"];
  if (isJsonObject(options) && isNamed(options, "comparison_response_id")) {
    return stateful("prompt_cache_options.comparison_response_id", "names an answer kept at a provider; leave it out");
  }
  return null;
}

/** The 400 for an item that stands for one kept at a provider. Its `type` may be left out. */
export function storedItem(item: JsonObject, path: string): ServiceError | null {
  const type = item["type"] ?? null;
  const isBareId = type === null && isNamed(item, "id") && !isNamed(item, "role");
  if (type !== "item_reference" && !isBareId) return null;
  return stateful(
    path,
    "names an item kept at a provider, and none is kept; send the item itself (AI SDK: providerOptions.openai.store = false; others: their setting for store)",
  );
}

/** The 400 for a content part that names a file kept at a provider. */
export function storedFile(part: JsonObject, path: string): ServiceError | null {
  if (!isNamed(part, "file_id")) return null;
  return stateful(`${path}.file_id`, "names a file kept at a provider; send the file itself");
}

function isNamed(object: JsonObject, name: string): boolean {
  const value = object[name];
  return value !== undefined && value !== null;
}

function stateful(param: string, sentence: string): ServiceError {
  return invalidRequest("unsupported_stateful_feature", `${param} ${sentence}`, param);
}
