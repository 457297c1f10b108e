import { FEATURES, type Feature } from "../canon/capability.ts";
import { emulatesFormat, type RequestEdits } from "../canon/decision.ts";
import { invalidRequest, type ServiceError } from "../canon/error.ts";
import type { DroppedField } from "../canon/generate/edit.ts";
import type { GenerateRequest } from "../canon/generate/generate-request.ts";
import type { JsonMember, JsonObject } from "../canon/json.ts";
import type {
  BodyReader,
  InferenceRequest,
  ProtocolHeaders,
  RequestShape,
} from "../canon/request.ts";
import type { EndpointRow, RouteRow } from "../canon/table.ts";
import { PLAIN_BODY } from "./body-reader.ts";
import type {
  CanonicalRequest,
  FormattedRequest,
  RequestReader,
  Target,
  Translation,
  Upstream,
} from "./dialect.ts";
import { ownValue, type Members } from "./json.ts";
import { readKinds, type Kinds } from "./kinds.ts";
import {
  RequestReading,
  inferenceRequest,
  isEmptyValue,
  shownName,
  type FieldRegistry,
} from "./request-reading.ts";
import { emulateFormat, type FormatEmulation } from "./translated-stream.ts";

/** How the bodies of one operation are read. */
interface BodyReading extends Pick<RequestShape, "operation"> {
  /** The feature of what only this protocol has. */
  readonly native: Feature;
  readonly registry: FieldRegistry;
  readonly kinds: Kinds;
  /** The 400 for a body that no route accepts, or `null`. */
  readonly refuse: (body: JsonObject, headers: ProtocolHeaders) => ServiceError | null;
  /** Estimates for limits and balancing, where they differ from those of a plain body. */
  readonly estimates: Partial<BodyReader>;
  /** The single walk over a body: canon, and in `reading` what the body requires. */
  readonly read: (body: JsonObject, reading: RequestReading) => GenerateRequest;
  /** Whether a stream ends with token counts; default: every one does. */
  readonly includesUsage?: (body: JsonObject) => boolean;
}

/**
 * Parses validated bodies (capabilities, features, size and preferences), and makes canonical
 * requests of them where they are translated. A body with features of its own protocol only
 * (`native`) is not translated: the 400 names the member that canon cannot hold.
 */
export function bodyRequests({
  operation,
  native,
  registry,
  kinds,
  refuse,
  estimates,
  read,
  includesUsage = () => true,
}: BodyReading): Pick<RequestReader, "parse"> & Pick<Translation, "toCanon"> {
  const reader: BodyReader = { ...PLAIN_BODY, ...estimates };
  return {
    parse: (body, bytes, headers) => {
      const refusal = refuse(body, headers);
      if (refusal !== null) return refusal;
      const reading = new RequestReading(native);
      reading.version = headers.version;
      reading.noteFields(body, registry);
      const { stream, maxOutputTokens, reasoning } = read(body, reading);
      readKinds(body, registry, kinds, reading);
      return inferenceRequest(reading, {
        operation,
        stream,
        maxOutputTokens,
        effort: reasoning?.effort ?? "unspecified",
        dimensions: null,
        bytes,
        headers,
        body,
        includeUsage: includesUsage(body),
        reader,
      });
    },
    toCanon: (request, mode, edits) => {
      const refused = nativeMember(request, native);
      if (refused !== null) return refused;
      const reading = new RequestReading(native, mode);
      for (const field of request.dropped ?? []) reading.dropped.add(field);
      const canon = read(keptMembers(registry, request.body, edits, reading), reading);
      const maxOutputTokens =
        canon.purpose === "count" ? null : cappedLimit(canon.maxOutputTokens, edits);
      const { refusal, stripped, dropped } = reading;
      return (
        refusal ?? {
          request: { ...canon, maxOutputTokens },
          stripped,
          dropped: [...dropped].toSorted(),
        }
      );
    },
  };
}

/**
 * A body without members that identify the user and those that a policy takes out. Unknown members
 * are recorded on a route that strips them and refused by name elsewhere: a route that forwards
 * them cannot forward them to another protocol.
 *
 * @param forwarded gets the unknown members of a route that forwards them, for endpoints of the
 *   surface's own protocol.
 */
export function keptMembers(
  registry: FieldRegistry,
  body: JsonObject,
  { stripFields }: RequestEdits,
  reading: RequestReading,
  forwarded?: Members,
): JsonObject {
  const removed: readonly string[] = stripFields;
  const kept: Members = { ...body };
  for (const [name, value] of Object.entries(body)) {
    if (value == null) continue;
    const facts = ownValue(registry, name);
    if (facts?.class === "identity" || removed.includes(name)) {
      reading.strip(name);
      kept[name] = null;
    } else if (facts !== undefined) continue;
    else if (forwarded !== undefined && reading.mode === "forward") forwarded[name] = value;
    else if (isEmptyValue(value)) reading.dropped.add("empty_member_dropped");
    else reading.unknown(shownName(name));
  }
  return kept;
}

/**
 * The 400 for a request with features of its own protocol only (`native_chat` and the like), or
 * `null`. A decision sends no such request to an endpoint of another protocol, but it may send one
 * to an endpoint that lacks the requested response format.
 */
function nativeMember({ paths }: InferenceRequest, feature: Feature): ServiceError | null {
  const path = paths.get(feature);
  if (path === undefined) return null;
  return invalidRequest(
    "feature_not_supported",
    `${path} uses ${FEATURES[feature]}, and the request would be translated for its endpoint`,
    path,
  );
}

/**
 * The smaller of the limit that the caller set and the one that a policy sets, tokens; `null` where
 * there is neither.
 */
function cappedLimit(limit: number | null, { maxOutputTokens: cap }: RequestEdits) {
  return limit === null || cap === null ? (limit ?? cap) : Math.min(limit, cap);
}

/** A request in the protocol of one endpoint, not yet sent. */
export interface PreparedTranslation {
  /** The request of the endpoint, in canon. */
  readonly fitted: GenerateRequest;
  readonly formatted: FormattedRequest;
  /** `null` unless a response format is requested as a tool. */
  readonly emulation: FormatEmulation | null;
  /** Calls beyond the first are left out of answers. */
  readonly firstCallOnly: boolean;
  /** Stop sequences at which the router ends the answer. */
  readonly stops: readonly string[];
  readonly stripped: readonly string[];
  readonly dropped: readonly DroppedField[];
}

/** Formats a request for one endpoint. Returns the 400 of the endpoint's printer. */
export function prepareTranslation(
  canonical: CanonicalRequest,
  route: RouteRow,
  shape: RequestShape,
  target: Target,
  upstream: Upstream,
): PreparedTranslation | ServiceError {
  const { endpoint } = target;
  const emulation = emulatesFormat(route, shape, endpoint)
    ? emulateFormat(canonical.request, endpoint)
    : null;
  const { request, firstCallOnly } = forOneTool(emulation?.request ?? canonical.request, endpoint);
  const stop = request.stop.filter(acceptsStop(endpoint));
  const stops = request.stop.filter((one) => one !== "" && !stop.includes(one));
  const lacksSeed = request.seed !== null && !endpoint.features.includes("seed");
  const fitted = { ...request, stop, seed: lacksSeed ? null : request.seed };
  const formatted = upstream.format(fitted, target);
  if ("code" in formatted) return formatted;
  const dropped = [...canonical.dropped, ...formatted.dropped];
  if (emulation !== null) dropped.push("schema_emulated");
  if (firstCallOnly) dropped.push("single_call_unspoken");
  if (lacksSeed) dropped.push("seed_dropped");
  if (stops.length > 0) dropped.push("stops_by_router");
  return {
    fitted,
    formatted,
    emulation,
    firstCallOnly,
    stops,
    stripped: canonical.stripped,
    dropped,
  };
}

/** Stop sequences of any protocol that takes some. */
const COMMON_STOPS = 4;

/** Whether an endpoint takes the stop sequence at a position. */
function acceptsStop({
  features,
}: Pick<EndpointRow, "features">): (stop: string, index: number) => boolean {
  if (!features.includes("stop_sequences")) return () => false;
  const most = features.includes("stop_sequences_over_4") ? Infinity : COMMON_STOPS;
  const allowsBlank = features.includes("stop_sequences_blank");
  return (stop, index) => index < most && (allowsBlank || stop.trim() !== "");
}

/**
 * Whether the endpoint cannot get the request as it is, although it speaks the caller's protocol.
 */
export function needsTranslation(
  route: RouteRow,
  shape: RequestShape,
  endpoint: EndpointRow,
): boolean {
  if (emulatesFormat(route, shape, endpoint)) return true;
  return shape.features.some(
    (feature) => STOPS.has(feature) && !endpoint.nativeFeatures.includes(feature),
  );
}

const STOPS: ReadonlySet<Feature> = new Set<Feature>([
  "stop_sequences",
  "stop_sequences_over_4",
  "stop_sequences_blank",
]);

/** Feature that a named tool choice requires: with one tool it is the same as forcing a call. */
export function namedToolFeature(tools: JsonMember): Feature {
  return hasOneTool(tools) ? "tool_choice_required" : "tool_choice_named";
}

/**
 * Feature that switching parallel calls off requires: with one tool, the router can drop further
 * calls of an answer.
 */
export function singleCallFeature(tools: JsonMember): Feature {
  return hasOneTool(tools) ? "one_tool_called_once" : "parallel_tool_calls_off";
}

function hasOneTool(tools: JsonMember) {
  return Array.isArray(tools) && tools.length === 1;
}

/**
 * A request in values that mean the same with one tool instead of those that the endpoint does not
 * have, and whether its answers may hold more calls than were requested.
 */
export function forOneTool(
  request: GenerateRequest,
  { features }: Pick<EndpointRow, "features">,
): { readonly request: GenerateRequest; readonly firstCallOnly: boolean } {
  const { tools, toolChoice, parallelToolCalls } = request;
  if (tools.length !== 1) return { request, firstCallOnly: false };
  const firstCallOnly =
    parallelToolCalls === false && !features.includes("parallel_tool_calls_off");
  const isUnnamed = toolChoice?.mode === "named" && !features.includes("tool_choice_named");
  if (!firstCallOnly && !isUnnamed) return { request, firstCallOnly };
  return {
    request: {
      ...request,
      ...(firstCallOnly && { parallelToolCalls: null }),
      ...(isUnnamed && { toolChoice: { mode: "required" } }),
    },
    firstCallOnly,
  };
}
