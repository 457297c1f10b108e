import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";

/**
 * The 400 for a top-level member that requests that a provider stores content, or that would take a decision of the routing table out of its
 * hands. Refused on every route, also where unknown members are forwarded.
 */
export function refusedMember(body: JsonObject): ServiceError | null {
  return (
    refusedBlock(body) ??
    (holdsSomething(body["container"])
      ? stateful("container", "names or makes a container kept at the provider; leave it out")
      : null) ??
    (holdsSomething(body["thread"])
      ? stateful("thread", "would make the provider keep the conversation; send the messages themselves")
      : null) ??
    previousMessage(body["diagnostics"])
  );
}

function refusedBlock(body: JsonObject): ServiceError | null {
  if (isGiven(body["inference_geo"])) {
    return invalidRequest(
      "unsupported_region_field",
      "inference_geo cannot be chosen by the caller: routes.yaml defines where each endpoint runs. To narrow the region, send provider.region",
      "inference_geo",
    );
  }
  if (holdsSomething(body["fallbacks"])) {
    return invalidRequest(
      "unsupported_routing_field",
      "fallbacks names models that the provider would call instead: routes.yaml defines which models may get a request. Leave it out",
      "fallbacks",
    );
  }
  return null;
}

function previousMessage(diagnostics: JsonValue | undefined): ServiceError | null {
  if (!isJsonObject(diagnostics) || !isGiven(diagnostics["previous_message_id"])) return null;
  return stateful(
    "diagnostics.previous_message_id",
    "names an answer that the provider has kept something of; leave it out",
  );
}

/** The 400 for content that names a file kept at the provider instead of holding it. */
export function storedFile(path: string): ServiceError {
  return stateful(path, "names a file kept at the provider; send the file itself");
}

function stateful(param: string, sentence: string): ServiceError {
  return invalidRequest("unsupported_stateful_feature", `${param} ${sentence}`, param);
}

/** An object whose every member is null or an empty list requests nothing. */
function holdsSomething(value: JsonValue | undefined): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (!isJsonObject(value)) return isGiven(value);
  return JSON.isRawJSON(value) || Object.values(value).some(holdsSomething);
}

function isGiven(value: JsonValue | undefined): boolean {
  return value !== undefined && value !== null;
}
