import type { JsonValue } from "../../../canon/json.ts";
import type { ModerationCategory } from "../../../canon/unary.ts";

/** One value for each category of callers, in the order of OpenAI's specification. */
export function categoryRecord<Value>(
  make: (name: ModerationCategory) => Value,
): Readonly<Record<ModerationCategory, Value>> {
  return {
    harassment: make("harassment"),
    "harassment/threatening": make("harassment/threatening"),
    hate: make("hate"),
    "hate/threatening": make("hate/threatening"),
    illicit: make("illicit"),
    "illicit/violent": make("illicit/violent"),
    "self-harm": make("self-harm"),
    "self-harm/intent": make("self-harm/intent"),
    "self-harm/instructions": make("self-harm/instructions"),
    sexual: make("sexual"),
    "sexual/minors": make("sexual/minors"),
    violence: make("violence"),
    "violence/graphic": make("violence/graphic"),
  };
}

/** A score as all protocols have it, 0 to 1; `null` for anything else. */
export function scoreOf(value: JsonValue | undefined): number | null {
  return typeof value === "number" && value >= 0 && value <= 1 ? value : null;
}
