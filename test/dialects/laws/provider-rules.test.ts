import fc from "fast-check";
import type {
  AssistantPart,
  GenerateRequest,
  InputPart,
  ToolResult,
  Turn,
} from "../../../src/canon/generate/generate-request.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/canon/json.ts";
import type { RequestRules } from "../../../src/dialects/dialect.ts";
import { upstreamFor } from "../../../src/dialects/exchange-plan.ts";
import { textOf } from "../../../src/dialects/json.ts";
import { GENERATE_DIALECTS, type GenerateDialect } from "../../../src/dialects/table.ts";
import { targetOf } from "./target.ts";
import { canon } from "../openai-chat/canon.ts";
import { describe, expect, it } from "vitest";

/** A printed request in what the rules speak of. */
interface Sent {
  readonly names: readonly string[];
  readonly schemas: readonly JsonValue[];
  readonly messages: readonly SentMessage[];
}

interface SentMessage {
  readonly role: string;
  readonly calls: readonly string[];
  readonly results: readonly string[];
  readonly texts: readonly string[];
}

const list = (value: JsonValue | undefined): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter((one: JsonValue) => isJsonObject(one)) : [];
const object = (value: JsonValue | undefined): JsonObject => (isJsonObject(value) ? value : {});
const texts = (values: readonly (JsonValue | undefined)[]): readonly string[] =>
  values.filter((value) => typeof value === "string");
/** Texts of a content that is a text or a list of parts. */
const said = (content: JsonValue | undefined): readonly string[] =>
  typeof content === "string" ? [content] : texts(list(content).map(({ text }) => text));

function chatMessages({ messages }: JsonObject): readonly SentMessage[] {
  return list(messages).map(({ role, content, tool_calls, tool_call_id }) => ({
    role: textOf(role),
    calls: texts(list(tool_calls).map(({ id }) => id)),
    results: texts([tool_call_id]),
    texts: said(content),
  }));
}

function chatSent(body: JsonObject): Sent {
  const functions = list(body.tools).map((tool) => object(tool.function));
  const called = list(body.messages).flatMap(({ tool_calls }) =>
    list(tool_calls).map((call) => object(call.function).name),
  );
  return {
    names: texts([...functions.map(({ name }) => name), ...called]),
    schemas: functions.flatMap(({ parameters }) => parameters ?? []),
    messages: chatMessages(body),
  };
}

const READERS: Readonly<
  Record<Exclude<GenerateDialect, "openai-completions">, (body: JsonObject) => Sent>
> = {
  "openai-chat": chatSent,
  "cohere-chat": chatSent,
  "openai-responses": ({ tools, input }) => ({
    names: texts([...list(tools), ...list(input)].map(({ name }) => name)),
    schemas: list(tools).flatMap(({ parameters }) => parameters ?? []),
    messages: list(input).map(({ role, content, type, call_id }) => ({
      role:
        type === "function_call"
          ? "assistant"
          : type === "function_call_output"
            ? "tool"
            : textOf(role),
      calls: type === "function_call" ? texts([call_id]) : [],
      results: type === "function_call_output" ? texts([call_id]) : [],
      texts: said(content),
    })),
  }),
  "anthropic-messages": ({ tools, messages }) => ({
    names: texts([
      ...list(tools).map(({ name }) => name),
      ...list(messages).flatMap(({ content }) => list(content).map(({ name }) => name)),
    ]),
    schemas: list(tools).map(({ input_schema }) => input_schema ?? null),
    messages: list(messages).map(({ role, content }) => ({
      role: textOf(role),
      calls: texts(list(content).map(({ type, id }) => (type === "tool_use" ? id : null))),
      results: texts(list(content).map(({ tool_use_id }) => tool_use_id)),
      texts: said(content),
    })),
  }),
  gemini: ({ tools, contents }) => ({
    names: texts([
      ...list(tools).flatMap(({ functionDeclarations }) =>
        list(functionDeclarations).map(({ name }) => name),
      ),
      ...list(contents).flatMap(({ parts }) =>
        list(parts).map(({ functionCall }) => object(functionCall).name),
      ),
    ]),
    schemas: list(tools).flatMap(({ functionDeclarations }) =>
      list(functionDeclarations).flatMap(({ parametersJsonSchema }) => parametersJsonSchema ?? []),
    ),
    messages: list(contents).map(({ role, parts }) => ({
      role: role === "model" ? "assistant" : textOf(role),
      calls: texts(list(parts).map(({ functionCall }) => object(functionCall).id)),
      results: texts(list(parts).map(({ functionResponse }) => object(functionResponse).id)),
      texts: texts(list(parts).map(({ text }) => text)),
    })),
  }),
  "bedrock-converse": ({ toolConfig, messages }) => ({
    names: texts([
      ...list(object(toolConfig).tools).map(({ toolSpec }) => object(toolSpec).name),
      ...list(messages).flatMap(({ content }) =>
        list(content).map(({ toolUse }) => object(toolUse).name),
      ),
    ]),
    schemas: list(object(toolConfig).tools).flatMap(
      ({ toolSpec }) => object(object(toolSpec).inputSchema).json ?? [],
    ),
    messages: list(messages).map(({ role, content }) => ({
      role: textOf(role),
      calls: texts(list(content).map(({ toolUse }) => object(toolUse).toolUseId)),
      results: texts(list(content).map(({ toolResult }) => object(toolResult).toolUseId)),
      texts: texts(list(content).map(({ text }) => text)),
    })),
  }),
};

const NAMES = [
  "look_up",
  "mcp.files/read",
  "9 lives",
  "",
  "a".repeat(70),
  `${"a".repeat(69)}b`,
  "x-y",
  "über",
];
const IDS = ["c", "call:1/2", "", "d".repeat(90)];
const name = fc.constantFrom(...NAMES);
const someText = fc.constantFrom("a", "", " \n", "b ");

const textPart = someText.map((text) => ({ kind: "text", text, cache: null }) as const);
const imagePart = fc
  .tuple(
    fc.constantFrom("image/jpg", "IMAGE/PNG", "image/webp"),
    fc.constantFrom("iVBO\nRw0K", "iVBORw0K"),
  )
  .map(
    ([mediaType, data]) =>
      ({
        kind: "image",
        source: { kind: "base64", mediaType, data },
        detail: null,
        cache: null,
      }) as const,
  );
const input: fc.Arbitrary<readonly InputPart[]> = fc.array(fc.oneof(textPart, imagePart), {
  maxLength: 2,
});

const thought = fc
  .constantFrom("t", "")
  .map(
    (text) => ({ kind: "reasoning", text, summary: false, signature: null, family: null }) as const,
  );
const calls = fc
  .tuple(fc.constantFrom(...IDS), name)
  .map(
    ([id, called]) =>
      ({ kind: "tool_call", id, name: called, arguments: "{}", cache: null }) as const,
  );
const assistant = fc.array(fc.oneof(textPart, thought, calls), { maxLength: 4 });

type Step =
  | { readonly user: readonly InputPart[] }
  | { readonly said: readonly AssistantPart[] }
  | "results";

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    input.map((user) => ({ user })),
    assistant.map((parts) => ({ said: parts })),
    fc.constant("results" as const),
  ),
  { minLength: 1, maxLength: 8 },
);

/**
 * A conversation in any order in which every result has its call before it; at its end no call is
 * left without one.
 */
function conversation(taken: readonly Step[], file: InputPart): readonly Turn[] {
  const turns: Turn[] = [];
  let open: ToolResult[] = [];
  const answer = () => {
    if (open.length > 0) turns.push({ role: "tool", results: open });
    open = [];
  };
  for (const step of taken) {
    if (step === "results") answer();
    else if ("user" in step) turns.push({ role: "user", name: null, content: step.user });
    else {
      turns.push({ role: "assistant", name: null, content: step.said });
      for (const part of step.said) {
        if (part.kind !== "tool_call") continue;
        const content = file.kind === "image" ? [file] : [];
        open.push({ callId: part.id, content, isError: null, cache: null });
      }
    }
  }
  answer();
  return [
    ...turns,
    { role: "user", name: null, content: [{ kind: "text", text: "go on", cache: null }] },
  ];
}

const SCHEMAS: readonly JsonObject[] = [
  { type: "object" },
  {
    type: "object",
    properties: {
      a: { type: "object" },
      b: { type: "array" },
      c: { type: "string", minLength: 1 },
    },
  },
  {},
  { properties: { a: { anyOf: [{ type: "array" }, { type: "null" }] } }, required: ["a"] },
];

const requests: fc.Arbitrary<GenerateRequest> = fc
  .record({
    steps,
    file: imagePart,
    tools: fc.uniqueArray(name, { maxLength: 4 }),
    schema: fc.constantFrom(...SCHEMAS),
    strict: fc.constantFrom(null, true),
    numbers: fc.record({
      temperature: fc.constantFrom(null, 0.2, 1),
      topP: fc.constantFrom(null, 0.5, 0.99),
    }),
  })
  .map(({ steps: taken, file, tools, schema, strict, numbers }) =>
    canon({
      ...numbers,
      turns: conversation(taken, file),
      tools: tools.map((one) => ({
        name: one,
        description: null,
        parameters: schema,
        strict,
        cache: null,
      })),
      toolChoice: tools.length > 0 ? null : { mode: "auto" },
      maxOutputTokens: 50,
    }),
  );

/** Objects that lack `properties`, and lists that lack `items`. */
function incomplete(schema: JsonValue | undefined): readonly JsonValue[] {
  if (Array.isArray(schema)) return schema.flatMap((one: JsonValue) => incomplete(one));
  if (!isJsonObject(schema)) return [];
  const { type, properties, items } = schema;
  const lacks =
    (type === "object" && properties === undefined) || (type === "array" && items === undefined);
  return [...(lacks ? [schema] : []), ...Object.values(schema).flatMap((one) => incomplete(one))];
}

const DIALECTS = Object.keys(READERS).filter((one): one is keyof typeof READERS =>
  Object.hasOwn(READERS, one),
);

describe.each(DIALECTS)("a request for %s, for every conversation,", (dialect) => {
  const rules: RequestRules = GENERATE_DIALECTS[dialect].requires;
  const target = targetOf(dialect);

  function sent(request: GenerateRequest) {
    const formatted = upstreamFor("generate", dialect).format(request, target);
    if ("code" in formatted) throw new Error(`${formatted.code} ${formatted.message}`);
    return { ...READERS[dialect](formatted.body), body: formatted.body, formatted };
  }

  function holds(check: (made: ReturnType<typeof sent>, request: GenerateRequest) => void): void {
    fc.assert(
      fc.property(requests, (request) => check(sent(request), request)),
      { numRuns: 150 },
    );
  }

  it("has names valid for the protocol, which map back to the caller's", () => {
    holds(({ names, formatted }, { tools }) => {
      expect(names.filter((one) => !rules.toolName.test(one))).toEqual([]);
      const back = names.map((one) => formatted.names?.get(one) ?? one);
      expect(back.slice(0, tools.length)).toEqual(
        dialect === "bedrock-converse" && tools.length === 0 ? [] : tools.map((tool) => tool.name),
      );
      expect(new Set(names.slice(0, tools.length)).size).toBe(tools.length);
    });
  });

  it("has unique ids of calls, and each result directly after its call", () => {
    holds(({ messages }) => {
      const ids = messages.flatMap((message) => message.calls);
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids.filter((id) => !rules.callId.test(id))).toEqual([]);
      const open = new Set<string>();
      let isAnswering = false;
      for (const { role, calls: called, results, texts: spoken } of messages) {
        for (const id of results) {
          expect(open.delete(id), `a call before the result ${id}`).toBe(true);
        }
        if (results.length > 0) isAnswering = true;
        // While calls wait, nothing but the assistant's calls and their results may stand.
        else if (open.size > 0)
          expect(role, `between a call and its result: ${spoken.join()}`).toBe("assistant");
        for (const id of called) open.add(id);
      }
      expect([...open]).toEqual([]);
      expect(isAnswering).toBe(ids.length > 0);
    });
  });

  it("begins, ends and alternates by the protocol's rules", () => {
    holds(({ messages }) => {
      if (rules.opensWithUser) expect(messages[0]?.role).toBe("user");
      const refused = messages
        .flatMap((message) => message.texts)
        .filter((text) =>
          rules.refusedText === "blank"
            ? text.trim() === ""
            : rules.refusedText === "empty" && text === "",
        );
      expect(refused).toEqual([]);
    });
    for (const end of ["{ ", "{"]) {
      const turns: Turn[] = [
        { role: "user", name: null, content: [{ kind: "text", text: "x", cache: null }] },
        { role: "assistant", name: null, content: [{ kind: "text", text: end, cache: null }] },
      ];
      const last = sent(canon({ turns, maxOutputTokens: 50 }))
        .messages.at(-1)
        ?.texts.at(-1);
      expect(last).toBe(rules.trimsPrefill ? "{" : end);
    }
  });

  it("has schemas, media types and base64 valid for providers", () => {
    holds(({ schemas, body }) => {
      expect(schemas.flatMap((schema) => incomplete(schema))).toEqual([]);
      for (const schema of schemas) expect(schema).toMatchObject({ type: "object" });
      expect(JSON.stringify(body)).not.toMatch(/image\/jpg|IMAGE|iVBO\\n/);
    });
  });

  it("is unchanged by a second fitting", () => {
    holds(({ body }, request) => {
      expect(sent(request).body).toEqual(body);
    });
  });
});
