import { fitting } from "../fit-request.ts";
import { OPENAI_RESPONSES } from "./facts.ts";
import { deploymentHost, OPENAI_FAMILY } from "../openai-chat/family.ts";
import type { Dialect, Surface, Upstream } from "../dialect.ts";
import { refusingUnknown } from "../request-reading.ts";
import { readChatError } from "../openai-chat/ending.ts";
import { RESPONSES_FIELDS } from "./request-facts.ts";
import { editResponsesRequest, observeResponsesStream, readResponsesAnswer } from "./relay.ts";
import { renderResponsesAnswer, renderResponsesStream } from "./render.ts";
import { parseResponsesRequest, responsesToCanon } from "./parse-request.ts";
import { formatResponsesRequest } from "./format.ts";
import { parseResponsesAnswer, parseResponsesStream, parseTokenCount } from "./read-answer.ts";
import { RESPONSE, RESPONSES_EXAMPLES, RESPONSES_SCHEMA, RESPONSE_STREAM } from "./contract.ts";

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
