import type { InferenceEvent } from "../../../src/canon/generate/event.ts";

/** What breaks the laws of `InferenceEvent` (canon/generate/event.ts); empty where they hold. */
export function brokenLaws(events: readonly InferenceEvent[]): readonly string[] {
  const broken: string[] = [];
  let next = 0;
  let open: string | null = null;
  const kinds: Readonly<Record<string, string>> = {
    text: "text",
    citation: "text",
    refusal: "refusal",
    reasoning: "reasoning",
    signature: "reasoning",
    arguments: "tool_call",
  };
  for (const [position, event] of events.entries()) {
    const isLast = position === events.length - 1;
    if ((event.type === "finish" || event.type === "failure") !== isLast)
      broken.push(`${event.type} at ${position}`);
    if ((event.type === "start") !== (position === 0) && event.type !== "failure")
      broken.push(`${event.type} at ${position}`);
    if (event.type === "open") {
      if (open !== null || event.index !== next) broken.push(`open ${event.index} at ${position}`);
      open = event.block.kind;
      next += 1;
    } else if (event.type === "close") {
      if (open === null || event.index !== next - 1)
        broken.push(`close ${event.index} at ${position}`);
      open = null;
    } else if ("index" in event && (event.index !== next - 1 || open !== kinds[event.type])) {
      broken.push(`${event.type} in ${open ?? "nothing"} at ${position}`);
    }
    if (event.type === "finish" && open !== null) broken.push("an open block at the finish");
  }
  return broken;
}
