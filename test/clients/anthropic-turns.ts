import type Anthropic from "@anthropic-ai/sdk";

/** `undefined` leaves the version that the library sends by itself. */
export const VERSIONS = [undefined, "2023-06-01"] as const;

export const weather: Anthropic.Tool = {
  name: "weather",
  description: "The weather in a city",
  input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};
export const time: Anthropic.Tool = {
  name: "time",
  input_schema: { type: "object", properties: {} },
};
export const question: Anthropic.MessageParam[] = [
  { role: "user", content: "How is the weather?" },
];

/** The answer as history, and a result for every call in it. */
export function answered({ content }: Anthropic.Message): Anthropic.MessageParam[] {
  const results = content.flatMap((block) =>
    block.type === "tool_use"
      ? [
          {
            type: "tool_result" as const,
            tool_use_id: block.id,
            content: `result of ${block.name}`,
          },
        ]
      : [],
  );
  return [
    { role: "assistant", content },
    ...(results.length === 0 ? [] : [{ role: "user" as const, content: results }]),
  ];
}

export function callsOf({
  content,
}: Anthropic.Message): readonly { readonly name: string; readonly input: unknown }[] {
  return content.flatMap((block) =>
    block.type === "tool_use" ? [{ name: block.name, input: block.input }] : [],
  );
}

export function textOf({ content }: Anthropic.Message): string {
  return content.map((block) => (block.type === "text" ? block.text : "")).join("");
}

export function asker(
  client: Anthropic,
  streamed: boolean,
): (body: Anthropic.MessageCreateParamsNonStreaming) => Promise<Anthropic.Message> {
  return (body) =>
    streamed ? client.messages.stream(body).finalMessage() : client.messages.create(body);
}
