import type { Capability } from "./capability.ts";
import type { JsonObject } from "./json.ts";

/**
 * What limits and balancing need of a body, whose protocol they do not know. Each question reads the body again: most requests ask few of them, and a request carries
 * its surface's reader without a cost.
 */
export interface BodyReader {
  /** Most tokens of one answer, as the body says; `null` where it does not. Above 0. */
  readonly outputLimit: (body: JsonObject) => number | null;
  /** Prompts that are read and answered each by itself; at least 1. */
  readonly prompts: (body: JsonObject) => number;
  /** Answers to one prompt; at least 1. */
  readonly choices: (body: JsonObject) => number;
  /** Most tokens of input beyond one for each byte of the body: what providers add, and content that the body only names. */
  readonly inputAllowance: (body: JsonObject, needs: readonly Capability[]) => number;
  /** Tokens of the input as they are likely to be counted. */
  readonly likelyInput: (body: JsonObject, needs: readonly Capability[]) => number;
  /** The caller's own name for the conversation; `null` where there is none. */
  readonly conversationName: (body: JsonObject) => string | null;
  /** What all requests of a conversation begin with, as one text of bounded length; `null` where the body has no such beginning. */
  readonly conversationOpening: (body: JsonObject) => string | null;
}
