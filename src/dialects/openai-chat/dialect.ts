import type { Relay, Surface } from "../dialect.ts";
import { renderOpenAiError, renderOpenAiStreamFailure } from "../openai-errors.ts";
import { editChatRequest, refuseUnknownFields } from "./edit-request.ts";
import { observeChatStream, readChatAnswer } from "./observe.ts";
import { parseChatRequest } from "./parse-request.ts";
import { readChatError } from "./read-error.ts";

/** Chat completions as products speak them to us. */
export const chatSurface: Surface = {
  parse: parseChatRequest,
  refuseUnknown: refuseUnknownFields,
  renderError: renderOpenAiError,
  renderStreamFailure: renderOpenAiStreamFailure,
};

/** Chat completions onto providers that speak them too. */
export const chatRelay: Relay = {
  path: () => "/chat/completions",
  edit: editChatRequest,
  observe: observeChatStream,
  readAnswer: readChatAnswer,
  readError: readChatError,
};
