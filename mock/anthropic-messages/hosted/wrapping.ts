import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import { listOf, isText } from "../../member-table.ts";
import { invalid, type Problem } from "../../problem.ts";
import type { Call } from "../../simulate.ts";

/** What a cloud expects around the messages protocol. */
export interface Wrapping {
  /** The value of `anthropic_version`. */
  readonly version: string;
  /** Members of the protocol that the cloud does not take. */
  readonly foreign: readonly string[];
  /** The betas of the request, as the header `anthropic-beta` would hold them. */
  readonly betas: (call: Call) => string | Problem;
}

/** The edition of the protocol that both clouds serve. */
const EDITION = "2023-06-01";

/**
 * The request that the protocol's own provider would have been sent; or what the cloud refuses.
 *
 * @param body the wrapped body.
 * @param more members that the cloud reads somewhere else.
 */
export function unwrapped(call: Call, body: JsonObject, wrapping: Wrapping, more: JsonObject): Call | Problem {
  const { version, foreign } = wrapping;
  if (body["anthropic_version"] !== version) return invalid("anthropic_version", `Input should be '${version}'`);
  const stranger = [...foreign, "service_tier", "speed", "diagnostics", "inference_geo"].find((name) =>
    Object.hasOwn(body, name),
  );
  if (stranger !== undefined) return invalid(stranger, "Extra inputs are not permitted");
  if (namesAddress(body["messages"])) return invalid("messages", "URL sources are not supported");
  const betas = wrapping.betas(call);
  if (typeof betas !== "string") return betas;
  const { anthropic_version: _version, anthropic_beta: _betas, ...rest } = body;
  const headers = new Map([
    ["anthropic-version", EDITION],
    ["anthropic-beta", betas],
  ]);
  return { ...call, body: { ...rest, ...more }, header: (name) => headers.get(name) ?? call.header(name) };
}

/** Whether an image or a document is named by its address; neither cloud fetches anything. */
function namesAddress(value: JsonValue | undefined): boolean {
  if (Array.isArray(value)) return value.some(namesAddress);
  if (!isJsonObject(value)) return false;
  const { source, content } = value;
  return (isJsonObject(source) && source["type"] === "url") || namesAddress(content);
}

/** Reads `anthropic_beta`, the list that Bedrock takes in the place of a header. */
export function betasInBody(body: JsonObject): string | Problem {
  const betas = body["anthropic_beta"] ?? [];
  if (!Array.isArray(betas) || !listOf(isText)(betas)) return invalid("anthropic_beta", "Input should be a valid list");
  return betas.join(",");
}
