import type { RequestEdits } from "../../canon/decision.ts";
import { editSet, NO_EDITS } from "../../canon/generate/edit.ts";
import { isJsonObject } from "../../canon/json.ts";
import type { InferenceRequest } from "../../canon/request.ts";
import type { EndpointRow, ProviderRow, UnknownFields } from "../../canon/table.ts";
import type { EditedRequest } from "../dialect.ts";
import { editedBody } from "../relay/edited-body.ts";
import { type Changes, leaveOut } from "../openai-chat/deviations/body-members.ts";
import { COMPLETIONS_FIELDS } from "./parse-request.ts";

const USAGE_REQUESTED = editSet("usage_requested");
const OUTPUT_LIMIT_SET = editSet("output_limit_set");

/**
 * The caller's body as the provider gets it: another model name, usage requested on streams, our own and the identity members taken out,
 * and what policies oblige us to. Everything else travels as it came. There is no `store` here: the protocol keeps nothing.
 */
export function editCompletionsRequest(
  request: InferenceRequest,
  endpoint: EndpointRow,
  provider: ProviderRow,
  mode: UnknownFields,
  edits: RequestEdits,
): EditedRequest {
  const edited = editedBody(COMPLETIONS_FIELDS, request, endpoint, mode, edits);
  const { body, stripped } = edited;
  let made = edited.edits;
  if (edits.maxOutputTokens !== null) {
    const requested = body["max_tokens"];
    body["max_tokens"] =
      typeof requested === "number" ? Math.min(requested, edits.maxOutputTokens) : edits.maxOutputTokens;
    if (body["max_tokens"] !== requested) made |= OUTPUT_LIMIT_SET;
  }
  if (provider.flags.includes("no_stream_options")) {
    if (body["stream_options"] !== undefined) stripped.push("stream_options");
    delete body["stream_options"];
  } else if (request.shape.stream) {
    const options = request.body["stream_options"];
    body["stream_options"] = { ...(isJsonObject(options) ? options : {}), include_usage: true };
    if (!request.includeUsage) made |= USAGE_REQUESTED;
  }
  const changes: Changes = { stripped, dropped: new Set(), edits: NO_EDITS };
  leaveOut(body, provider.flags, changes);
  return { body, stripped, edits: made | changes.edits, headers: [], dropped: [...changes.dropped] };
}
