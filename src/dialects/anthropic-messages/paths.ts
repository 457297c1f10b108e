/** Paths after a provider's base URL, which has no `/v1`: official clients are configured the same way. */
export const MESSAGES_PATH = "/v1/messages";
export const COUNT_PATH = "/v1/messages/count_tokens";
