import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/canon/json.ts";
import { RESPONSE_HEADERS } from "../../src/http/contract/document/response-headers.ts";
import { endpoint, model } from "../support/table.ts";
import {
  ANSWER,
  answerJson,
  delta,
  sse,
  startRouter,
  startSse,
  startUpstream,
  tableOver,
} from "../support/router.ts";

const HEADER = "x-signalbox-edits";

const schema = RESPONSE_HEADERS.find(({ name }) => name === HEADER)?.schema;
const PATTERN = new RegExp(typeof schema?.pattern === "string" ? schema.pattern : "^$");

interface Case {
  readonly title: string;
  readonly path: string;
  readonly dialect: string;
  readonly body: JsonObject;
  readonly answer: (response: ServerResponse) => void;
  readonly edits: readonly string[];
}

const chat = { messages: [{ role: "user", content: "hello" }] };

function chatStream(response: ServerResponse): void {
  startSse(response);
  response.end(
    [sse(delta("hi", "stop")), sse({ choices: [], usage: ANSWER.usage }), sse("[DONE]")].join(""),
  );
}

const MESSAGE = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "up",
  content: [{ type: "text", text: "hi" }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 1 },
};

const RESPONSE = {
  id: "resp_1",
  object: "response",
  status: "completed",
  output: [{ type: "message", id: "m", role: "assistant", status: "completed", content: [] }],
  usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
};

function events(response: ServerResponse, list: readonly JsonObject[]): void {
  startSse(response);
  response.end(
    list
      .map((data) => `event: ${JSON.stringify(data.type).replaceAll('"', "")}\n${sse(data)}`)
      .join(""),
  );
}

const CASES: readonly Case[] = [
  {
    title: "chat completions, whole",
    path: "/v1/chat/completions",
    dialect: "openai-chat",
    body: { ...chat, user: "u", metadata: { a: "b" } },
    answer: (response) => answerJson(response),
    edits: ["model_replaced", "store_false_sent", "stripped:user", "stripped:metadata"],
  },
  {
    title: "chat completions, as a stream without usage",
    path: "/v1/chat/completions",
    dialect: "openai-chat",
    body: { ...chat, stream: true, store: false },
    answer: chatStream,
    edits: ["model_replaced", "usage_requested"],
  },
  {
    title: "legacy completions",
    path: "/v1/completions",
    dialect: "openai-completions",
    body: { prompt: "hello", user: "u" },
    answer: (response) =>
      answerJson(response, { id: "c", choices: [{ text: "hi", index: 0, finish_reason: "stop" }] }),
    edits: ["model_replaced", "stripped:user"],
  },
  {
    title: "responses, whole, with members that the provider omitted",
    path: "/v1/responses",
    dialect: "openai-responses",
    body: { input: "hello", safety_identifier: "s" },
    answer: (response) => answerJson(response, RESPONSE),
    edits: [
      "model_replaced",
      "store_false_sent",
      "answer_members_filled",
      "request_id_added",
      "stripped:safety_identifier",
    ],
  },
  {
    title: "responses, as a stream whose first event omits members",
    path: "/v1/responses",
    dialect: "openai-responses",
    body: { input: "hello", stream: true },
    answer: (response) =>
      events(response, [
        {
          type: "response.created",
          sequence_number: 0,
          response: { id: "resp_1", status: "in_progress" },
        },
        { type: "response.completed", sequence_number: 1, response: RESPONSE },
      ]),
    edits: ["model_replaced", "store_false_sent", "answer_members_filled", "request_id_added"],
  },
  {
    title: "messages",
    path: "/api/v1/messages",
    dialect: "anthropic-messages",
    body: { ...chat, max_tokens: 10, metadata: { user_id: "u" } },
    answer: (response) => answerJson(response, MESSAGE),
    edits: ["model_replaced", "stripped:metadata"],
  },
  {
    title: "messages, translated",
    path: "/api/v1/messages",
    dialect: "openai-chat",
    body: { ...chat, max_tokens: 10, metadata: { user_id: "u" } },
    answer: (response) => answerJson(response),
    edits: ["model_replaced", "translated", "stripped:metadata"],
  },
  {
    title: "responses, translated with a dropped field",
    path: "/v1/responses",
    dialect: "openai-chat",
    body: {
      input: [{ role: "user", content: "hello", id: "m" }],
      prompt_cache_options: { mode: "x" },
    },
    answer: (response) => answerJson(response),
    edits: ["model_replaced", "translated", "cache_hint_dropped", "item_id_dropped"],
  },
  {
    title: "embeddings in two calls",
    path: "/v1/embeddings",
    dialect: "openai-chat",
    body: { input: ["a", "b"], user: "u" },
    answer: (response) =>
      answerJson(response, {
        object: "list",
        model: "e",
        data: [{ object: "embedding", index: 0, embedding: [0.5, 0.25] }],
        usage: { prompt_tokens: 1, total_tokens: 1 },
      }),
    edits: ["model_replaced", "batch_split", "stripped:user"],
  },
];

async function requested(
  { path, dialect, body, answer }: Case,
  upstreamModel = "upstream-a",
  headers: Readonly<Record<string, string>> = {},
) {
  const upstream = await startUpstream(answer);
  const base = tableOver([upstream]);
  const embeds = path.includes("embeddings");
  const [row, workspace] = [base.routes.r, base.workspaces.w];
  if (row === undefined || workspace === undefined) throw new Error("no rows");
  const operation = embeds ? "embed" : "generate";
  const router = await startRouter({
    table: {
      ...base,
      models: { m: model("m", { operations: [operation], ...(embeds && { dimensions: [2] }) }) },
      endpoints: { a: endpoint("a", { dialect, provider: "p-a", upstreamModel }) },
      routes: { r: { ...row, operations: [operation] } },
      workspaces: {
        w: {
          ...workspace,
          approve: { ...workspace.approve, dimensions: [2], contextWindow: 1_000_000 },
        },
      },
    },
  });
  const response = await fetch(`${router.url}${path}`, {
    method: "POST",
    headers: {
      authorization: "Bearer good",
      "content-type": "application/json",
      ...(embeds && { "x-max-batch-size": "1" }),
      ...headers,
    },
    body: JSON.stringify({ model: "r", ...body }),
  });
  const text = await response.text();
  await router.settled(1);
  return { response, text, outcome: router.outcomes[0], sent: upstream.calls[0]?.headers };
}

describe("x-signalbox-edits names the edits of a request:", () => {
  it.each(CASES)("$title", async (one) => {
    const { response, text, outcome } = await requested(one);
    expect(response.status, text).toBe(200);
    const header = response.headers.get(HEADER) ?? "";
    expect(header).toMatch(PATTERN);
    const values = header.split(", ");
    expect(values).toEqual(expect.arrayContaining([...one.edits]));
    // A value that the case does not expect can only be a dropped field.
    expect(
      values.filter(
        (value) =>
          !one.edits.includes(value) && !(outcome?.losses ?? []).some((loss) => loss === value),
      ),
    ).toEqual([]);
    // The evidence says the same.
    const recorded = [
      ...(outcome?.edits ?? []),
      ...(outcome?.stripped ?? []).map((name) => `stripped:${name}`),
      ...(outcome?.losses ?? []),
    ];
    expect(new Set(recorded)).toEqual(new Set(values));
  });

  it.each(CASES)("headers of the protocol that no provider gets, for $title", async (one) => {
    const names = one.path.startsWith("/api/v1/")
      ? ["anthropic-beta", "anthropic-user-profile-id", "anthropic-workspace-id"]
      : ["openai-beta", "openai-organization", "openai-project"];
    const headers = Object.fromEntries(names.map((name) => [name, "private-1"]));
    const { response, outcome, sent } = await requested(one, undefined, headers);
    expect(response.headers.get(HEADER)).toMatch(PATTERN);
    expect(outcome?.stripped).toEqual(expect.arrayContaining(names));
    expect(JSON.stringify([sent, outcome])).not.toContain("private-1");
  });

  it("a beta flag in a form that the router does not read", async () => {
    const messages = CASES.find(({ title }) => title === "messages");
    if (messages === undefined) throw new Error("no case");
    const { outcome } = await requested(messages, undefined, { "anthropic-beta": "UPPER" });
    expect(outcome?.stripped).toContain("anthropic-beta");
  });

  it("is absent where the provider gets the caller's bytes", async () => {
    const one: Case = {
      title: "",
      path: "/v1/chat/completions",
      dialect: "openai-chat",
      body: { ...chat, store: false },
      answer: (out) => answerJson(out),
      edits: [],
    };
    const { response, outcome } = await requested(one, "r");
    expect(response.status).toBe(200);
    expect(response.headers.get(HEADER)).toBeNull();
    expect(outcome?.edits).toEqual([]);
  });
});
