/** Requests of the contract, in the order to try them. */
export const COMPLETIONS_EXAMPLES = {
  plain: { model: "chat-small", prompt: "Say hello.", max_tokens: 20 },
  streamed: { model: "chat-small", prompt: "Say hello.", max_tokens: 20, stream: true },
} as const;
