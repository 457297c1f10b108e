/** Service tiers of OpenAI's protocols (protocols.md §3.1), which canon has the words of. */
export const SERVICE_TIERS: ReadonlySet<string> = new Set(["auto", "default", "flex", "scale", "priority", "fast"]);
