import type { RequestEdits } from "../../../canon/decision.ts";
import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import type { JsonObject } from "../../../canon/json.ts";
import type { InferenceRequest, ProtocolHeaders } from "../../../canon/request.ts";
import type { UnknownFields } from "../../../canon/table.ts";
import type { CanonicalRequest } from "../../dialect.ts";
import { readHints, statefulMember } from "../../openai-family/read-members.ts";
import { inferenceRequest, RequestReading } from "../../request-reading.ts";
import { canonicalRequest, type CanonReader } from "../../translation/kept-members.ts";
import { RESPONSES_BODY } from "../body.ts";
import { RESPONSES_FIELDS } from "../fields.ts";
import { readResponsesBody } from "./read-body.ts";

/** What each member that needs a provider's memory requests (docs/protocols.md#stateful-members-of-responses). */
const STATEFUL: Readonly<Record<string, string>> = {
  store: "asks the provider to keep the answer; this router never does. Send false or leave it out",
  background:
    "asks the provider to keep the answer until it is fetched. Send false or leave it out, and wait or stream",
  previous_response_id: "names an answer kept at a provider; send the whole conversation in input",
  conversation: "names a conversation kept at a provider; send the whole conversation in input",
  prompt: "names a prompt kept at a provider; send its text in instructions or input",
  context_management: "lets the provider rewrite the conversation; shorten input before sending it",
};

/** Reads a validated responses body: what it requires of models and of wire protocols, how large it is, what it prefers. */
export function parseResponsesRequest(
  body: JsonObject,
  bytes: number,
  headers: ProtocolHeaders,
): InferenceRequest | ServiceError {
  const refused = statefulMember(body, STATEFUL);
  if (refused !== null) return refused;
  const reading = new RequestReading();
  const { read, effort } = readResponsesBody(body, reading);
  const { stream, maxOutputTokens } = read;
  const parsed = { operation: "responses", stream, maxOutputTokens, effort, bytes, headers, body } as const;
  // The protocol's last event always has the counts of tokens.
  return inferenceRequest(reading, { ...parsed, dimensions: null, reader: RESPONSES_BODY, includeUsage: true });
}

const READER: CanonReader = {
  native: "native_responses",
  registry: RESPONSES_FIELDS,
  read: (body, reading) => readResponsesBody(body, reading).read,
  hints: (body, reading) => {
    const hints = readHints(body, reading);
    // The protocol's default requests nothing.
    return hints.serviceTier === "auto" ? { ...hints, serviceTier: null } : hints;
  },
};

/** A parsed responses request in canon. */
export function responsesToCanon(
  request: InferenceRequest,
  mode: UnknownFields,
  edits: RequestEdits,
): CanonicalRequest | ServiceError {
  const made = canonicalRequest(READER, request, mode, edits);
  if ("code" in made || made.request.turns.length > 0) return made;
  return invalidRequest("missing_field", "input must hold something to answer", "input");
}
