import type { BodyReader } from "../../canon/body-reader.ts";
import { promptOpening } from "../body/conversation.ts";
import { PLAIN_BODY } from "../body/plain-body.ts";

/** What limits and balancing read of a request. Each prompt of a list is read and answered by itself; a list of numbers is one prompt, of tokens. */
export const COMPLETIONS_BODY: BodyReader = {
  ...PLAIN_BODY,
  prompts: ({ prompt }) =>
    Array.isArray(prompt) && !prompt.every((token) => typeof token === "number") ? prompt.length : 1,
  conversationOpening: ({ prompt }) => promptOpening(prompt),
};
