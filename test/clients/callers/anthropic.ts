import Anthropic from "@anthropic-ai/sdk";
import { LIMIT, QUESTION, type Caller, type Session, type Reported } from "./caller.ts";

export function anthropicClient(
  { url, key, fetch, retries }: Session,
  version?: string,
): Anthropic {
  return new Anthropic({
    apiKey: key,
    baseURL: `${url}/api`,
    fetch,
    ...(retries === undefined ? {} : { maxRetries: retries }),
    ...(version === undefined ? {} : { defaultHeaders: { "anthropic-version": version } }),
  });
}

const messages = [{ role: "user" as const, content: QUESTION }];
const FINISH_REASONS = { stop: "end_turn", length: "max_tokens", filtered: "refusal" } as const;

const raw: Caller = {
  name: "@anthropic-ai/sdk messages.create",
  surface: "messages",
  finishReasons: FINISH_REASONS,
  countsStreams: true,
  whole: async (session, model) => {
    return ofMessage(
      await anthropicClient(session).messages.create({ model, max_tokens: LIMIT, messages }),
    );
  },
  stream: async (session, model) => {
    const stream = await anthropicClient(session).messages.create({
      model,
      max_tokens: LIMIT,
      messages,
      stream: true,
    });
    let text = "";
    let finish: string | null = null;
    let input = 0;
    let output = 0;
    for await (const event of stream) {
      if (event.type === "message_start") input = event.message.usage.input_tokens;
      if (event.type === "content_block_delta" && event.delta.type === "text_delta")
        text += event.delta.text;
      if (event.type === "message_delta") {
        finish = event.delta.stop_reason;
        // Translated answers know their input only at the end.
        input = event.usage.input_tokens ?? input;
        output = event.usage.output_tokens;
      }
    }
    return { text, finish, usage: [input, output] };
  },
};

const helper: Caller = {
  ...raw,
  name: "@anthropic-ai/sdk messages.stream",
  stream: async (session, model) => {
    return ofMessage(
      await anthropicClient(session)
        .messages.stream({ model, max_tokens: LIMIT, messages })
        .finalMessage(),
    );
  },
};

const older: Caller = {
  ...raw,
  name: "@anthropic-ai/sdk speaking 2023-06-01",
  whole: async (session, model) => {
    const client = anthropicClient(session, "2023-06-01");
    return ofMessage(await client.messages.create({ model, max_tokens: LIMIT, messages }));
  },
  stream: async (session, model) => {
    const client = anthropicClient(session, "2023-06-01");
    return ofMessage(
      await client.messages.stream({ model, max_tokens: LIMIT, messages }).finalMessage(),
    );
  },
};

export const ANTHROPIC_CALLERS: readonly Caller[] = [raw, helper, older];

function ofMessage({ content, stop_reason: finish, usage }: Anthropic.Message): Reported {
  const text = content.map((block) => (block.type === "text" ? block.text : "")).join("");
  return { text, finish, usage: [usage.input_tokens, usage.output_tokens] };
}
