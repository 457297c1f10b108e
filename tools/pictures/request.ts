import { arrow, band, box, svg, text } from "./draw.ts";

/** The way of a request: docs/architecture.md. */
export function requestDrawing(): string {
  const steps = [
    ["key", "who calls:", "one workspace"],
    ["body", "read once,", "checked, bounded"],
    ["decision", "table, preferences,", "policies"],
    ["limits", "tokens, money,", "requests reserved"],
    ["dispatch", "endpoints in order,", "translated"],
  ] as const;
  const refusals = ["401", "400, 413", "403, 404", "429, 402", "502, 504"];
  const [width, gap] = [156, 30];
  const at = (index: number): number => 32 + index * (width + gap);
  return svg({
    title: "The way of a request",
    description:
      "Five steps from left to right: the key names one workspace; the body is read once and checked; the decision looks at the table, preferences and policies; limits reserve tokens, money and requests; dispatch tries the endpoints in order and translates. Each step can answer with an error: 401, then 400 or 413, then 403 or 404, then 429 or 402, then 502 or 504. The decision is written to the evidence before the first byte of an answer, the outcome after the last one.",
    width: 960,
    height: 366,
    parts: [
      band(16, 16, 928, 222, "A request, from left to right; each step can end it"),
      ...steps.flatMap(([title, first, second], index) => [
        box({
          x: at(index),
          y: 56,
          width,
          title,
          notes: [first, second],
          look: title === "decision" ? "core" : "box",
        }),
        ...(index === 0 ? [] : [arrow(`M${at(index) - gap} 94 H${at(index) - 2}`)]),
        arrow(`M${at(index) + width / 2} 132 V174`),
        box({ x: at(index), y: 176, width, title: refusals[index] ?? "", notes: [], look: "stop" }),
      ]),
      band(16, 254, 928, 96, "Evidence: ids, enum values, counts; no content"),
      box({ x: 404, y: 286, width: 156, title: "decision", notes: [], look: "core" }),
      box({ x: 776, y: 286, width: 156, title: "outcome", notes: [], look: "core" }),
      text("label", 566, 304, "on disk before the first"),
      text("label", 566, 322, "byte of the answer"),
      text("label", 32, 304, "Refused requests are recorded too,"),
      text("label", 32, 322, "with the reason."),
    ],
  });
}
