/** Service tiers of OpenAI's protocols (docs/protocols.md#chat-completions); canon uses the same values. */
export const SERVICE_TIERS: ReadonlySet<string> = new Set(["auto", "default", "flex", "scale", "priority", "fast"]);
