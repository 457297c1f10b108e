import type { BodyReader } from "../../canon/body-reader.ts";
import { turnsOpening } from "../body/conversation.ts";
import { PLAIN_BODY } from "../body/plain-body.ts";

/** What limits and balancing read of a request whose content is its `input`. */
export const INPUT_BODY: BodyReader = {
  ...PLAIN_BODY,
  conversationOpening: ({ input }) => turnsOpening(input),
};
