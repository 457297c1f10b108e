import type { RequestEdits } from "../../canon/decision.ts";
import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import type { InferenceRequest } from "../../canon/request.ts";
import type { EndpointRow, ProviderRow, UnknownFields } from "../../canon/table.ts";
import type { EditedRequest } from "../dialect.ts";
import { nearestField, unknownFields } from "../fields.ts";
import { COMPLETIONS_FIELDS } from "./fields.ts";

/** The 400 for members that nobody knows, where the route does not say `strip` or `forward`. Names are quoted only when they look like one. */
export function refuseUnknownFields(body: JsonObject, mode: UnknownFields): ServiceError | null {
  if (mode !== "reject") return null;
  const [name] = unknownFields(COMPLETIONS_FIELDS, body);
  if (name === undefined) return null;
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(name)) {
    return invalidRequest("unknown_field", "The request has a member that completions do not have");
  }
  const near = nearestField(COMPLETIONS_FIELDS, name);
  const hint = near === null ? "" : `; did you mean ${near}?`;
  return invalidRequest("unknown_field", `Unknown field ${name}${hint}`, name);
}

/**
 * The caller's body as the provider gets it: another model name, usage asked for on streams, our own and the identity members taken out,
 * and what policies oblige us to. Everything else travels as it came. There is no `store` here: the protocol keeps nothing.
 */
export function editCompletionsRequest(
  request: InferenceRequest,
  endpoint: EndpointRow,
  provider: ProviderRow,
  mode: UnknownFields,
  edits: RequestEdits,
): EditedRequest {
  // Without a prototype: a member that is called `__proto__` must travel as a member, not become one.
  const body: Record<string, JsonValue | undefined> = Object.create(null);
  const stripped: string[] = [];
  const stripFields: readonly string[] = edits.stripFields;
  for (const name in request.body) {
    const facts = Object.hasOwn(COMPLETIONS_FIELDS, name) ? COMPLETIONS_FIELDS[name] : undefined;
    if (facts === undefined ? mode === "strip" : facts.class === "identity") {
      stripped.push(facts === undefined ? "unknown_field" : name);
    } else if (stripFields.includes(name)) {
      stripped.push(name);
    } else if (facts?.class !== "ours") {
      body[name] = request.body[name];
    }
  }
  body["model"] = endpoint.upstreamModel;
  if (edits.maxOutputTokens !== null) {
    const asked = body["max_tokens"];
    body["max_tokens"] = typeof asked === "number" ? Math.min(asked, edits.maxOutputTokens) : edits.maxOutputTokens;
  }
  if (provider.flags.includes("no_stream_options")) {
    if (body["stream_options"] !== undefined) stripped.push("stream_options");
    delete body["stream_options"];
  } else if (request.shape.stream) {
    const options = request.body["stream_options"];
    body["stream_options"] = { ...(isJsonObject(options) ? options : {}), include_usage: true };
  }
  return { body, stripped, headers: [] };
}
