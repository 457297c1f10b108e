import type { GenerateRequest } from "../../canon/generate/generate-request.ts";
import type { Tool } from "../../canon/generate/message.ts";

/**
 * The tools that the model may call. The protocol has no choice `none`: it is said by offering nothing, and only the allowed ones are
 * offered where only some are.
 */
export function offeredTools({ tools, toolChoice }: GenerateRequest): readonly Tool[] {
  if (toolChoice?.mode === "none") return [];
  return toolChoice?.mode === "allowed" ? tools.filter(({ name }) => toolChoice.names.includes(name)) : tools;
}
