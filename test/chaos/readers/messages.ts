import {
  checkTerminals,
  eventsOf,
  member,
  objectOf,
  objectsIn,
  printed,
  textIn,
  type Reader,
} from "./seen.ts";

export const readMessage: Reader = (body) => {
  const problems: string[] = [];
  const message = objectOf(body, problems);
  if (typeof message.stop_reason !== "string") problems.push("an answer without a stop reason");
  const text = objectsIn(message.content)
    .map((block) => textIn(block.text))
    .join("");
  const { stop_reason: finish, usage } = message;
  return { end: "whole", text, finish: printed(finish), usage: printed(usage), problems };
};

/**
 * `message_start` first, blocks that open and close in turn, then `message_stop`; or `error`
 * anywhere, and nothing after it.
 */
export const readMessageStream: Reader = (body) => {
  const problems: string[] = [];
  const terminals: string[] = [];
  const opened: unknown[] = [];
  const stops: unknown[] = [];
  let open: unknown = null;
  let usage: unknown = null;
  let text = "";
  for (const [index, { name, data }] of eventsOf(body, problems).entries()) {
    if (terminals.length > 0) problems.push("something comes after the terminal");
    const event = objectOf(data, problems);
    const type = textIn(event.type);
    if (name !== type) problems.push("an event is named otherwise than its type");
    if ((type === "message_start") !== (index === 0) && type !== "error" && type !== "ping") {
      problems.push("a beginning is missing, or comes twice");
    }
    switch (type) {
      case "content_block_start":
        if (open !== null || opened.includes(event.index))
          problems.push("a block begins twice, or in another");
        open = event.index;
        opened.push(open);
        break;
      case "content_block_delta":
        if (event.index !== open) problems.push("a delta outside its block");
        text += textIn(member(event.delta, "text"));
        break;
      case "content_block_stop":
        if (event.index !== open) problems.push("a block ends that is not open");
        open = null;
        break;
      case "message_delta":
        stops.push(member(event.delta, "stop_reason"));
        ({ usage } = event);
        break;
      case "message_stop":
        if (open !== null) problems.push("the message ends within a block");
        terminals.push(type);
        break;
      case "error":
        terminals.push(type);
        break;
      default:
        break;
    }
  }
  checkTerminals(terminals, problems);
  const failed = terminals.includes("error");
  if (!failed && stops.length !== 1) problems.push(`${stops.length} stop reasons`);
  return {
    end: failed ? "failed" : "whole",
    text,
    finish: printed(stops),
    usage: printed(usage),
    problems,
  };
};
