import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";

/** What each member that needs a provider's memory asks for. They are refused on every route, also where unknown members are forwarded. */
const STATEFUL_FIELDS: Readonly<Record<string, string>> = {
  store: "asks the provider to keep the conversation; this router never does. Send false or leave it out",
  background:
    "asks the provider to keep the answer until it is fetched. Send false or leave it out, and wait or stream",
  previous_response_id: "names an answer kept at a provider; send the messages themselves",
  conversation: "names a conversation kept at a provider; send the messages themselves",
};

/** The 400 for a top-level member that asks somebody to keep content, or names content that somebody has kept. */
export function statefulField(body: JsonObject): ServiceError | null {
  for (const name in STATEFUL_FIELDS) {
    if (!Object.hasOwn(body, name)) continue;
    const value = body[name];
    if (value === undefined || value === null || value === false) continue;
    return stateful(name, STATEFUL_FIELDS[name] ?? "");
  }
  const cache = body["prompt_cache_options"];
  return isJsonObject(cache) && isNamed(cache["comparison_response_id"])
    ? stateful("prompt_cache_options.comparison_response_id", "names an answer kept at a provider; leave it out")
    : null;
}

/** Members of a content part that may name a file in place of holding it. */
const CARRIERS = ["file", "image_url", "input_audio", "document_url", "video_url"] as const;

/** The 400 for a content part that names a file kept at a provider, on itself or in the member that should hold the file. */
export function storedFile(part: JsonObject, path: string): ServiceError | null {
  const sentence = "names a file kept at a provider; send the file itself";
  if (isNamed(part["file_id"])) return stateful(`${path}.file_id`, sentence);
  for (const name of CARRIERS) {
    const carrier = part[name];
    if (isJsonObject(carrier) && isNamed(carrier["file_id"])) return stateful(`${path}.${name}.file_id`, sentence);
  }
  return null;
}

function isNamed(id: JsonValue | undefined): boolean {
  return id !== undefined && id !== null;
}

function stateful(param: string, sentence: string): ServiceError {
  return invalidRequest("unsupported_stateful_feature", `${param} ${sentence}`, param);
}
