import type { RequestEdits } from "../../canon/decision.ts";
import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import { FEATURES, type Feature } from "../../canon/generate/feature.ts";
import type { JsonObject } from "../../canon/json.ts";
import type { InferenceRequest } from "../../canon/request.ts";
import type { UnknownFields } from "../../canon/table.ts";
import { saysNothing, shownName, type FieldRegistry } from "../fields.ts";
import type { RequestReading } from "../request-reading.ts";

/** A body without what no endpoint of another protocol gets. */
export interface KeptMembers {
  readonly body: JsonObject;
  /** Registered names of members that were taken out; `unknown_field` for all others. */
  readonly stripped: readonly string[];
}

/**
 * Takes out members that tell who the user is, those that a policy takes out, and unknown ones on a route that strips them. Other unknown members are
 * refused by name: a route that forwards them cannot forward them to another protocol.
 */
export function keptMembers(
  registry: FieldRegistry,
  body: JsonObject,
  mode: UnknownFields,
  edits: RequestEdits,
  reading: RequestReading,
): KeptMembers {
  const stripFields: readonly string[] = edits.stripFields;
  const kept: Record<string, JsonObject[string]> = { ...body };
  const stripped: string[] = [];
  for (const name in registry) {
    if (registry[name]?.class !== "identity" && !stripFields.includes(name)) continue;
    if (isAbsent(body, name)) continue;
    stripped.push(name);
    kept[name] = null;
  }
  for (const name of Object.keys(body)) {
    if (Object.hasOwn(registry, name) || isAbsent(body, name)) continue;
    if (saysNothing(body[name])) reading.dropped.add("empty_member_dropped");
    else if (mode !== "strip") reading.refuse(untranslatable(shownName(name), mode));
    else if (!stripped.includes("unknown_field")) stripped.push("unknown_field");
  }
  return { body: kept, stripped };
}

function isAbsent(body: JsonObject, name: string): boolean {
  return !Object.hasOwn(body, name) || body[name] === null || body[name] === undefined;
}

/**
 * The 400 for a request that says what only its own protocol has (`native_chat` and the like), or `null`. A decision sends no such request to an endpoint
 * of another protocol.
 */
export function nativeMember({ paths }: InferenceRequest, feature: Feature): ServiceError | null {
  const path = paths.get(feature);
  if (path === undefined) return null;
  const sentence = `${path} uses ${FEATURES[feature]}, and the request would go to an endpoint of another one`;
  return invalidRequest("feature_not_supported", sentence, path);
}

/** The 400 for a member that canon does not hold. */
export function untranslatable(path: string, mode: UnknownFields): ServiceError {
  const sentence =
    mode === "forward"
      ? `${path} cannot be forwarded: an endpoint that may get the request speaks another protocol`
      : `${path} cannot be translated for an endpoint of another protocol that may get the request`;
  return invalidRequest("unknown_field", sentence, path);
}

/** The smaller of the limit that the caller set and the one that a policy sets, tokens; `null` where there is neither. */
export function cappedLimit(limit: number | null, { maxOutputTokens: cap }: RequestEdits): number | null {
  return limit === null || cap === null ? (limit ?? cap) : Math.min(limit, cap);
}
