import { AI_CALLERS } from "./ai.ts";
import { ANTHROPIC_CALLERS } from "./anthropic.ts";
import type { Caller } from "./caller.ts";
import { LANGCHAIN_CALLERS } from "./langchain.ts";
import { OPENAI_CALLERS } from "./openai.ts";

/** Every way of every client to request an answer. */
export const CALLERS: readonly Caller[] = [
  ...OPENAI_CALLERS,
  ...ANTHROPIC_CALLERS,
  ...AI_CALLERS,
  ...LANGCHAIN_CALLERS,
];
