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
} from "./seen.ts";

/**
 * How the text of one choice is written: chat completions and completions differ in nothing else
 * that matters here.
 */
interface ChoiceText {
  readonly whole: (choice: JsonObject) => unknown;
  readonly streamed: (choice: JsonObject) => unknown;
}

const CHAT: ChoiceText = {
  whole: (choice) => member(choice.message, "content"),
  streamed: (choice) => member(choice.delta, "content"),
};

const COMPLETIONS: ChoiceText = { whole: ({ text }) => text, streamed: ({ text }) => text };

function whole(textOf: ChoiceText): Reader {
  return (body) => {
    const problems: string[] = [];
    const { choices, usage } = objectOf(body, problems);
    const [choice = {}] = objectsIn(choices);
    const finish = choice.finish_reason;
    if (typeof finish !== "string") problems.push("an answer without a finish reason");
    const text = textIn(textOf.whole(choice));
    return { end: "whole", text, finish: printed(finish), usage: printed(usage), problems };
  };
}

/** Chunks, one finish reason, `[DONE]`; or an object with `error`, and `[DONE]`. */
function streamed(textOf: ChoiceText): Reader {
  return (body) => {
    const problems: string[] = [];
    const events = eventsOf(body, problems);
    if (events.at(-1)?.data !== "[DONE]") problems.push("the last event is not [DONE]");
    const finishes: unknown[] = [];
    const terminals: string[] = [];
    let text = "";
    let usage: unknown = null;
    for (const { data } of events) {
      if (terminals.at(-1) === "done") problems.push("something comes after [DONE]");
      if (data === "[DONE]") {
        if (terminals.at(-1) !== "error") terminals.push("done");
        continue;
      }
      if (terminals.length > 0) problems.push("something comes after the terminal");
      const chunk = objectOf(data, problems);
      if (chunk.error !== undefined) terminals.push("error");
      for (const choice of objectsIn(chunk.choices)) {
        text += textIn(textOf.streamed(choice));
        if (typeof choice.finish_reason === "string") finishes.push(choice.finish_reason);
      }
      usage = chunk.usage ?? usage;
    }
    checkTerminals(terminals, problems);
    const failed = terminals.includes("error");
    if (!failed && finishes.length !== 1) problems.push(`${finishes.length} finish reasons`);
    return {
      end: failed ? "failed" : "whole",
      text,
      finish: printed(finishes),
      usage: printed(usage),
      problems,
    };
  };
}

export const readChat: Reader = whole(CHAT);
export const readChatStream: Reader = streamed(CHAT);
export const readCompletion: Reader = whole(COMPLETIONS);
export const readCompletionStream: Reader = streamed(COMPLETIONS);
