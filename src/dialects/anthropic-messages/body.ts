import type { BodyReader } from "../../canon/body-reader.ts";
import { turnsOpening } from "../body/conversation.ts";
import { PLAIN_BODY } from "../body/plain-body.ts";

/** What limits and balancing read of a request. */
export const MESSAGES_BODY: BodyReader = {
  ...PLAIN_BODY,
  conversationOpening: ({ messages, system }) => turnsOpening(messages, system),
};
