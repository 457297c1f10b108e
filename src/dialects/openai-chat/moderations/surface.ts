import type { ServiceError } from "../../../canon/error.ts";
import type { JsonObject } from "../../../canon/json.ts";
import type { InferenceRequest } from "../../../canon/request.ts";
import type { UnknownFields } from "../../../canon/table.ts";

import { upstreamFor } from "../../upstreams.ts";
import { OPENAI_FAMILY } from "../../openai-family/family.ts";
import { refuseUnknownFields } from "../../fields.ts";
import { singlePartTask } from "../../unary/single-part.ts";
import type { UnaryOptions, UnarySurface, UnaryTask } from "../../unary/surface.ts";
import { MODERATIONS_FIELDS } from "./fields.ts";
import { parseModerationsRequest } from "./parse-request.ts";
import { strangePartError, strangePartMember } from "./parts.ts";
import { readModerationsRequest } from "./read-request.ts";
import { renderModerations } from "./render.ts";
import { verdictsOf } from "./upstream.ts";
import { MODERATION } from "./answer-schema.ts";
import { MODERATIONS_EXAMPLES } from "./examples.ts";
import { MODERATIONS_SCHEMA } from "./schema.ts";

/** Moderations for clients: OpenAI's request and answer (docs/protocols.md#moderations). */
export const moderationsSurface: UnarySurface = {
  kind: "unary",
  dialect: "openai-chat",
  parse: parseModerationsRequest,
  refuseUnknown,
  open: openModerations,
  family: OPENAI_FAMILY,
  contract: { body: MODERATIONS_SCHEMA, answer: MODERATION, examples: MODERATIONS_EXAMPLES },
};

function refuseUnknown(body: JsonObject, mode: UnknownFields): ServiceError | null {
  const unknown = refuseUnknownFields(MODERATIONS_FIELDS, body, mode, "moderations");
  if (unknown !== null || mode !== "reject") return unknown;
  const strange = strangePartMember(body["input"]);
  return strange === null ? null : strangePartError(strange);
}

function openModerations({ body }: InferenceRequest, options: UnaryOptions): UnaryTask | ServiceError {
  const read = readModerationsRequest(body, options.unknownFields, options.edits);
  if ("code" in read) return read;
  const inputs = verdictsOf(read.request.input);
  return singlePartTask(
    read,
    inputs,
    options.targets,
    ({ endpoint }) => upstreamFor("moderate", endpoint.dialect),
    renderModerations,
  );
}
