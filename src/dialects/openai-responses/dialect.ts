import type { Dialect } from "../dialect-facts.ts";
import { fitting } from "../fit-request.ts";
import { OPENAI_RESPONSES } from "./facts.ts";
import { deploymentHost, OPENAI_FAMILY } from "../openai-chat/family.ts";
import type { Surface, Upstream } from "../dialect.ts";
import { refusingUnknown } from "../fields.ts";
import { readChatError } from "../openai-chat/read-error.ts";
import { RESPONSES_FIELDS } from "./fields.ts";
import { editResponsesRequest } from "./edit-request.ts";
import { observeResponsesStream, readResponsesAnswer } from "./observe.ts";
import { renderResponsesAnswer } from "./render-answer.ts";
import { renderResponsesStream } from "./render-stream.ts";
import { parseResponsesRequest, responsesToCanon } from "./parse-request.ts";
import { formatResponsesRequest } from "./format.ts";
import { parseResponsesAnswer, parseTokenCount, parseResponsesStream } from "./parse-answer.ts";
import { RESPONSE, RESPONSE_STREAM, RESPONSES_EXAMPLES } from "./contract.ts";
import { RESPONSES_SCHEMA } from "./schema.ts";

/** Responses as products speak them to us, and their relay to providers that speak them too. */
export const responsesSurface: Surface = {
  kind: "generate",
  dialect: "openai-responses",
  parse: parseResponsesRequest,
  refuseUnknown: refusingUnknown(RESPONSES_FIELDS, "responses"),
  relay: {
    path: () => "/responses",
    edit: editResponsesRequest,
    observe: observeResponsesStream,
    readAnswer: readResponsesAnswer,
  },
  translation: {
    toCanon: responsesToCanon,
    renderStream: renderResponsesStream,
    renderAnswer: renderResponsesAnswer,
  },
  family: OPENAI_FAMILY,
  contract: {
    body: RESPONSES_SCHEMA,
    answer: RESPONSE,
    examples: RESPONSES_EXAMPLES,
    stream: RESPONSE_STREAM,
  },
};

/** Responses as providers speak them, for requests that came in another protocol. */
export const responsesUpstream: Upstream = {
  format: fitting(formatResponsesRequest, OPENAI_RESPONSES.requires),
  parseStream: (_request, target) => parseResponsesStream(target.model.signatureFamily),
  parseAnswer: (bytes, request, target) =>
    request.purpose === "count"
      ? parseTokenCount(bytes)
      : parseResponsesAnswer(bytes, target.model.signatureFamily),
  readError: readChatError,
  host: deploymentHost(readChatError),
};

/** The row of `dialects/table.ts`. */
export const dialect: Dialect = { generate: responsesUpstream };
