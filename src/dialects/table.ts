import type { Upstream } from "./dialect.ts";
import { messagesUpstream } from "./anthropic-messages/dialect.ts";
import { converseUpstream } from "./bedrock-converse/dialect.ts";
import { cohereChatUpstream } from "./cohere-chat/dialect.ts";
import { geminiUpstream } from "./gemini/dialect.ts";
import type { GenerateDialect } from "./names.ts";
import { chatUpstream } from "./openai-chat/dialect.ts";
import { completionsUpstream } from "./openai-completions/dialect.ts";
import { responsesUpstream } from "./openai-responses/dialect.ts";

/** What each wire protocol that generates is as an upstream. A new protocol is one row here and one in `names.ts`. */
export const UPSTREAMS: Readonly<Record<GenerateDialect, Upstream>> = {
  "openai-chat": chatUpstream,
  "openai-completions": completionsUpstream,
  "openai-responses": responsesUpstream,
  "anthropic-messages": messagesUpstream,
  gemini: geminiUpstream,
  "bedrock-converse": converseUpstream,
  "cohere-chat": cohereChatUpstream,
};
