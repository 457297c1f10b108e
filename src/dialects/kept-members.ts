import type { RequestEdits } from "../canon/decision.ts";
import { invalidRequest, type ServiceError } from "../canon/error.ts";
import { FEATURES, type Feature } from "../canon/generate/feature.ts";
import type { GenerateRequest, Hints } from "../canon/generate/generate-request.ts";
import type { JsonObject } from "../canon/json.ts";
import type { InferenceRequest } from "../canon/request.ts";
import type { UnknownFields } from "../canon/table.ts";
import { saysNothing, shownName, type FieldRegistry, RequestReading } from "./fields.ts";
import type { CanonicalRequest } from "./dialect.ts";

/** How a surface makes canon of its own bodies. */
export interface CanonReader {
  /** The feature of what only this protocol has. */
  readonly native: Feature;
  readonly registry: FieldRegistry;
  /** The walk that `parse` made, with the checks that only a translation needs. */
  readonly read: (body: JsonObject, reading: RequestReading) => Omit<GenerateRequest, "hints">;
  readonly hints: (body: JsonObject, reading: RequestReading) => Hints;
}

/**
 * A parsed request in canon, or the 400 that names the member which canon does not hold. What only the protocol itself has was noted when the body
 * was parsed (`native`); such a body is refused.
 */
export function canonicalRequest(
  { native, registry, read, hints }: CanonReader,
  request: InferenceRequest,
  mode: UnknownFields,
  edits: RequestEdits,
): CanonicalRequest | ServiceError {
  const refused = nativeMember(request, native);
  if (refused !== null) return refused;
  const reading = new RequestReading(true);
  const { body, stripped } = keptMembers(registry, request.body, mode, edits, reading);
  const made = read(body, reading);
  const maxOutputTokens = made.purpose === "count" ? null : cappedLimit(made.maxOutputTokens, edits);
  const canon = { ...made, maxOutputTokens, hints: hints(body, reading) };
  if (reading.refusal !== null) return reading.refusal;
  return { request: canon, stripped, dropped: [...reading.dropped].toSorted() };
}

/** A body without what no endpoint of another protocol gets. */
interface KeptMembers {
  readonly body: JsonObject;
  /** Registered names of members that were taken out; `unknown_field` for all others. */
  readonly stripped: readonly string[];
}

/**
 * Takes out members that identify the user, those that a policy takes out, and unknown ones on a route that strips them. Other unknown members are
 * refused by name: a route that forwards them cannot forward them to another protocol.
 */
function keptMembers(
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
function nativeMember({ paths }: InferenceRequest, feature: Feature): ServiceError | null {
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
function cappedLimit(limit: number | null, { maxOutputTokens: cap }: RequestEdits): number | null {
  return limit === null || cap === null ? (limit ?? cap) : Math.min(limit, cap);
}
