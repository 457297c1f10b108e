import type { ServiceError } from "../../canon/error.ts";
import type { GenerateRequest } from "../../canon/generate/generate-request.ts";
import type { DroppedField } from "../../canon/generate/dropped-field.ts";
import { emulatesSchema } from "../../canon/generate/schema-emulation.ts";
import type { RequestShape } from "../../canon/request.ts";
import type { RouteRow } from "../../canon/table.ts";
import type { CanonicalRequest, FormattedRequest, Target, Upstream } from "../dialect.ts";
import { forOneTool } from "./one-tool.ts";
import { emulateSchema, type SchemaEmulation } from "./emulate-schema.ts";

/** A request in the words of one endpoint, not yet sent. */
export interface PreparedTranslation {
  /** What is asked of the endpoint, in canon. */
  readonly asked: GenerateRequest;
  readonly formatted: FormattedRequest;
  /** `null` unless a response schema is asked for as a tool. */
  readonly emulation: SchemaEmulation | null;
  /** Calls beyond the first are left out of answers. */
  readonly keepsFirstCall: boolean;
  readonly stripped: readonly string[];
  readonly dropped: readonly DroppedField[];
}

/** Prints a request for one endpoint. The error is the 400 for what only the endpoint's printer could find. */
export function prepareTranslation(
  canonical: CanonicalRequest,
  route: RouteRow,
  shape: RequestShape,
  target: Target,
  upstream: Upstream,
): PreparedTranslation | ServiceError {
  const emulation = emulatesSchema(route, shape, target.endpoint)
    ? emulateSchema(canonical.request, target.endpoint)
    : null;
  const { request: asked, keepsFirstCall } = forOneTool(emulation?.request ?? canonical.request, target.endpoint);
  const formatted = upstream.format(asked, target);
  if ("code" in formatted) return formatted;
  const dropped = [...canonical.dropped, ...formatted.dropped];
  if (emulation !== null) dropped.push("schema_emulated");
  if (keepsFirstCall) dropped.push("single_call_unspoken");
  return { asked, formatted, emulation, keepsFirstCall, stripped: canonical.stripped, dropped };
}
