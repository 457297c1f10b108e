import type { JsonObject } from "../../../src/canon/json.ts";
import {
  checkTerminals,
  eventsOf,
  member,
  objectOf,
  objectsIn,
  printed,
  textIn,
  type Reader,
  type Seen,
} from "./seen.ts";

function textOf(response: unknown): string {
  const parts = objectsIn(member(response, "output")).flatMap(({ content }) => objectsIn(content));
  return parts.map(({ text }) => textIn(text)).join("");
}

function endingOf(response: JsonObject): Pick<Seen, "finish" | "usage"> {
  const finish = printed([response.status, response.incomplete_details ?? null]);
  return { finish, usage: printed(response.usage) };
}

function endOf(response: JsonObject): Seen["end"] {
  return response.status === "failed" ? "failed" : "whole";
}

export const readResponse: Reader = (body) => {
  const problems: string[] = [];
  const response = objectOf(body, problems);
  if (!["completed", "failed"].includes(textIn(response.status)))
    problems.push("an answer without an end");
  return { end: endOf(response), text: textOf(response), ...endingOf(response), problems };
};

const TERMINALS = ["response.completed", "response.incomplete", "response.failed", "error"];

/**
 * `response.created` first, numbers without gaps, one terminal, `[DONE]`; what the deltas said is
 * what the end says.
 */
export const readResponseStream: Reader = (body) => {
  const problems: string[] = [];
  const events = eventsOf(body, problems);
  if (events.at(-1)?.data !== "[DONE]") problems.push("the last event is not [DONE]");
  const terminals: string[] = [];
  let last: JsonObject = {};
  let text = "";
  for (const [index, { name, data }] of events.entries()) {
    if (data === "[DONE]") {
      if (index !== events.length - 1) problems.push("something comes after [DONE]");
      continue;
    }
    if (terminals.length > 0) problems.push("something comes after the terminal");
    const event = objectOf(data, problems);
    const type = textIn(event.type);
    if (name !== type) problems.push("an event is named otherwise than its type");
    if (event.sequence_number !== index) problems.push("sequence numbers have gaps");
    if (index === 0 && type !== "response.created" && type !== "error")
      problems.push("a beginning is missing");
    if (type === "response.output_text.delta") text += textIn(event.delta);
    if (!TERMINALS.includes(type)) continue;
    terminals.push(type);
    last = objectOf(JSON.stringify(event.response ?? {}), problems);
  }
  checkTerminals(terminals, problems);
  const failed = terminals.includes("error") || endOf(last) === "failed";
  if (!failed && textOf(last) !== text) problems.push("the end says another text than the deltas");
  return { end: failed ? "failed" : "whole", text, ...endingOf(last), problems };
};
