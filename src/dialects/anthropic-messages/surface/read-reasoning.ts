import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";
import type { ReasoningEffort } from "../../../canon/request.ts";
import type { RequestReading } from "../../request-reading.ts";
import { typeOf } from "../type-of.ts";

/** Efforts that the protocol writes as words. That there shall be no reasoning is said in `thinking`. */
export const EFFORTS = ["low", "medium", "high", "xhigh", "max"] as const satisfies readonly ReasoningEffort[];

/** Ways of thinking, and the members of each that canon can take in. All others only the protocol itself has. */
const THINKING_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  enabled: ["type", "budget_tokens", "display"],
  adaptive: ["type", "display"],
  disabled: ["type"],
};
const DISPLAYS: ReadonlySet<JsonValue | undefined> = new Set([undefined, null, "summarized", "omitted"]);

/** Reads `thinking` and `output_config.effort`; gives the effort that policies see. */
export function readReasoning({ thinking, output_config }: JsonObject, asked: RequestReading): ReasoningEffort {
  const word = isJsonObject(output_config) ? output_config["effort"] : undefined;
  const effort = EFFORTS.find((known) => known === word);
  if (effort !== undefined) {
    asked.need("reasoning", "output_config.effort");
    asked.use(`effort_${effort}`, "output_config.effort");
  } else if (word !== undefined && word !== null) {
    asked.need("reasoning", "output_config.effort");
    asked.use("native_messages", "output_config.effort");
  }
  if (!isJsonObject(thinking)) return effort ?? "unspecified";
  const type = typeOf(thinking);
  const members = (Object.hasOwn(THINKING_MEMBERS, type) ? THINKING_MEMBERS[type] : undefined) ?? [];
  for (const name in thinking) {
    if (!members.includes(name) && thinking[name] !== null) asked.use("native_messages", "thinking");
  }
  if (!DISPLAYS.has(thinking["display"])) asked.use("native_messages", "thinking.display");
  if (type === "disabled") {
    // How hard to try without thinking is a question that only this protocol has.
    if (asked.has("reasoning")) asked.use("native_messages", "thinking");
    else asked.use("effort_none", "thinking");
    return effort ?? "none";
  }
  asked.need("reasoning", "thinking");
  if (type === "enabled") asked.use("reasoning_budget", "thinking.budget_tokens");
  return effort ?? "unspecified";
}
