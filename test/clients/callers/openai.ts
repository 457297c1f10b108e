import OpenAI from "openai";
import { QUESTION, ReportedFailure, type Caller, type Session, type Reported } from "./caller.ts";

export function openaiClient({ url, key, fetch, retries }: Session): OpenAI {
  return new OpenAI({
    apiKey: key,
    baseURL: `${url}/v1`,
    fetch,
    ...(retries === undefined ? {} : { maxRetries: retries }),
  });
}

const messages = [{ role: "user" as const, content: QUESTION }];
const CHAT_FINISH_REASONS = { stop: "stop", length: "length", filtered: "content_filter" } as const;
const RESPONSES_FINISH_REASONS = {
  stop: "completed",
  length: "incomplete: max_output_tokens",
  filtered: "incomplete: content_filter",
} as const;

const chat: Caller = {
  name: "openai chat.completions.create",
  surface: "chat",
  finishReasons: CHAT_FINISH_REASONS,
  countsStreams: true,
  whole: async (session, model) =>
    ofChat(await openaiClient(session).chat.completions.create({ model, messages })),
  stream: async (session, model) => {
    const stream = await openaiClient(session).chat.completions.create({
      model,
      messages,
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = "";
    let finish: string | null = null;
    let usage: Reported["usage"] = null;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      finish = chunk.choices[0]?.finish_reason ?? finish;
      usage = chatUsage(chunk.usage) ?? usage;
    }
    return { text, finish, usage };
  },
};

const chatHelper: Caller = {
  ...chat,
  name: "openai chat.completions.stream",
  stream: async (session, model) => {
    const stream = openaiClient(session).chat.completions.stream({
      model,
      messages,
      stream_options: { include_usage: true },
    });
    const final = await stream.finalChatCompletion();
    const { prompt_tokens: input, completion_tokens: output } = await stream.totalUsage();
    return { ...ofChat(final), usage: [input, output] };
  },
};

const completions: Caller = {
  name: "openai completions.create",
  surface: "completions",
  finishReasons: CHAT_FINISH_REASONS,
  countsStreams: true,
  whole: async (session, model) => {
    const { choices, usage } = await openaiClient(session).completions.create({
      model,
      prompt: QUESTION,
    });
    return {
      text: choices[0]?.text ?? "",
      finish: choices[0]?.finish_reason ?? null,
      usage: chatUsage(usage),
    };
  },
  stream: async (session, model) => {
    const stream = await openaiClient(session).completions.create({
      model,
      prompt: QUESTION,
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = "";
    let finish: string | null = null;
    let usage: Reported["usage"] = null;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.text ?? "";
      finish = chunk.choices[0]?.finish_reason ?? finish;
      usage = chatUsage(chunk.usage) ?? usage;
    }
    return { text, finish, usage };
  },
};

const responses: Caller = {
  name: "openai responses.create",
  surface: "responses",
  finishReasons: RESPONSES_FINISH_REASONS,
  countsStreams: true,
  whole: async (session, model) => {
    return ofResponse(await openaiClient(session).responses.create({ model, input: QUESTION }));
  },
  stream: async (session, model) => {
    const stream = await openaiClient(session).responses.create({
      model,
      input: QUESTION,
      stream: true,
    });
    let reported: Reported = { text: "", finish: null, usage: null };
    for await (const event of stream) {
      if (event.type === "response.output_text.delta")
        reported = { ...reported, text: reported.text + event.delta };
      if (event.type === "response.completed" || event.type === "response.incomplete") {
        reported = { ...ofResponse(event.response), text: reported.text };
      }
      if (event.type === "response.failed") ofResponse(event.response);
    }
    return reported;
  },
};

const responsesHelper: Caller = {
  ...responses,
  name: "openai responses.stream",
  stream: async (session, model) => {
    return ofResponse(
      await openaiClient(session).responses.stream({ model, input: QUESTION }).finalResponse(),
    );
  },
};

export const OPENAI_CALLERS: readonly Caller[] = [
  chat,
  chatHelper,
  completions,
  responses,
  responsesHelper,
];

function ofChat({ choices, usage }: OpenAI.ChatCompletion): Reported {
  const [choice] = choices;
  return {
    text: choice?.message.content ?? "",
    finish: choice?.finish_reason ?? null,
    usage: chatUsage(usage),
  };
}

function chatUsage(usage: OpenAI.CompletionUsage | null | undefined): Reported["usage"] {
  return usage === null || usage === undefined
    ? null
    : [usage.prompt_tokens, usage.completion_tokens];
}

/** The client gives a response that failed like any other: its users have to look at the status. */
function ofResponse(response: OpenAI.Responses.Response): Reported {
  const { status, error, usage, incomplete_details: incomplete } = response;
  if (status === "failed")
    throw new ReportedFailure(error?.message ?? "failed without an error", response);
  const finish = status === "incomplete" ? `incomplete: ${incomplete?.reason}` : (status ?? null);
  return {
    text: response.output_text,
    finish,
    usage: usage === undefined || usage === null ? null : [usage.input_tokens, usage.output_tokens],
  };
}
