import type { BodyReader } from "../../canon/body-reader.ts";
import { conversationName } from "./conversation.ts";
import { choices, inputAllowance, likelyInput, outputLimit } from "./sizes.ts";

/** Reads bodies of one prompt; a protocol adds what is its own. */
export const PLAIN_BODY: BodyReader = {
  outputLimit,
  prompts: () => 1,
  choices,
  inputAllowance,
  likelyInput,
  conversationName,
  conversationOpening: () => null,
};
