import type { ReasoningRequest } from "../../canon/generate/generate-request.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import type { ReasoningEffort } from "../../canon/request.ts";
import type { RequestReading } from "../fields.ts";
import { textOf } from "../json.ts";

/** Efforts that the protocol writes as enum values. That there shall be no reasoning is said in `thinking`. */
export const EFFORTS = ["low", "medium", "high", "xhigh", "max"] as const satisfies readonly ReasoningEffort[];

/** Ways of thinking, and the members of each that canon can take in. All others only the protocol itself has. */
const THINKING_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  enabled: ["type", "budget_tokens", "display"],
  adaptive: ["type", "display"],
  disabled: ["type"],
};

/**
 * Reads `thinking` and `output_config.effort`. `effort` is what policies see. `adaptive` with an effort is how the protocol requests an effort: canon's
 * effort alone says both.
 */
export function readReasoning(
  { thinking, output_config }: JsonObject,
  reading: RequestReading,
): { readonly effort: ReasoningEffort; readonly reasoning: ReasoningRequest | null } {
  const requested = isJsonObject(output_config) ? output_config["effort"] : undefined;
  const effort = EFFORTS.find((known) => known === requested) ?? "unspecified";
  if (requested !== undefined && requested !== null) {
    reading.need("reasoning", "output_config.effort");
    reading.use(effort === "unspecified" ? "native_messages" : `effort_${effort}`, "output_config.effort");
  }
  if (!isJsonObject(thinking)) {
    const isPlain = effort === "unspecified";
    return { effort, reasoning: isPlain ? null : { effort, budget: null, adaptive: false, display: null } };
  }
  const type = textOf(thinking["type"]);
  const members = (Object.hasOwn(THINKING_MEMBERS, type) ? THINKING_MEMBERS[type] : undefined) ?? [];
  for (const name in thinking) {
    if (!members.includes(name) && thinking[name] !== null) reading.use("native_messages", "thinking");
  }
  const display = readDisplay(thinking["display"], reading);
  if (type === "disabled") {
    // How hard to try without thinking is a question that only this protocol has.
    if (reading.has("reasoning")) reading.use("native_messages", "thinking");
    else reading.use("effort_none", "thinking");
    const none = { effort: "none", budget: null, adaptive: false, display: null } as const;
    return { effort: effort === "unspecified" ? "none" : effort, reasoning: none };
  }
  reading.need("reasoning", "thinking");
  if (type === "enabled") reading.use("reasoning_budget", "thinking.budget_tokens");
  const { budget_tokens: budget } = thinking;
  const adaptive = type === "adaptive" && effort === "unspecified";
  return { effort, reasoning: { effort, budget: typeof budget === "number" ? budget : null, adaptive, display } };
}

function readDisplay(display: JsonValue | undefined, reading: RequestReading): "summarized" | "omitted" | null {
  if (display === "summarized" || display === "omitted") return display;
  if (display !== undefined && display !== null) reading.use("native_messages", "thinking.display");
  return null;
}
