import type { Canaries } from "./canaries.ts";
import { FAULTS } from "./leaky-upstream.ts";
import { GENERATING, type OTHER_ROUTES } from "./leak-routes.ts";

/** One request of the run. */
export interface Question {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

/**
 * Secret texts that are in requests. `content` may come back to the client that sent it, in an
 * answer of status 200.
 */
export interface RequestCanaries {
  readonly content: Readonly<Record<ContentLocation, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly query: string;
  readonly path: string;
  readonly wrongKey: string;
}

const CONTENT_LOCATIONS = [
  "prompt",
  "system",
  "document",
  "embedding input",
  "moderation input",
  "tool argument",
  "tool result",
  "tool description",
  "tool schema",
  "file name",
  "file data",
  "user",
  "metadata",
  "cache key",
  "stop sequence",
  "model name",
  "provider preference",
  "member name",
  "wrong type",
  "broken JSON",
  "image address",
] as const;
type ContentLocation = (typeof CONTENT_LOCATIONS)[number];

export function createRequestCanaries(canaries: Canaries): RequestCanaries {
  const content = Object.fromEntries(
    CONTENT_LOCATIONS.map((location) => [location, canaries.create(location)]),
  );
  const header = (name: string): string => canaries.create(`header ${name}`);
  return {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- made of the very locations
    content: content as Record<ContentLocation, string>,
    headers: {
      "user-agent": header("user-agent"),
      cookie: `session=${header("cookie")}`,
      referer: `https://example.com/${header("referer")}`,
      "x-anything": header("x-anything"),
      "x-session-id": header("x-session-id"),
      "x-client-request-id": header("x-client-request-id"),
      "idempotency-key": header("idempotency-key"),
      "x-forwarded-for": header("x-forwarded-for"),
      "x-stainless-os": header("x-stainless-os"),
      "anthropic-beta": header("anthropic-beta"),
      tracestate: `vendor=${header("tracestate")}`,
      traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    },
    query: canaries.create("query string"),
    path: canaries.create("path"),
    wrongKey: canaries.create("wrong key"),
  };
}

/** Every request. @param key a good service key. */
export function questions(planted: RequestCanaries, key: string): readonly Question[] {
  const { content, query } = planted;
  // A good key everywhere; an idempotency key only once for each, or requests would be joined to
  // others.
  const post = (
    path: string,
    body: unknown,
    more: Readonly<Record<string, string>> = {},
  ): Question => ({
    method: "POST",
    path: `${path}?note=${query}`,
    headers: {
      ...planted.headers,
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      ...more,
    },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  const all: Question[] = [];
  const generating = [
    ...GENERATING.flatMap((one) => FAULTS.map((fault) => `${one}-${fault}`)),
    "saved",
  ];
  for (const model of generating) {
    for (const [path, bodies] of Object.entries(generateBodies(content))) {
      for (const body of bodies) {
        all.push(post(path, { ...body, model }));
        if (!path.endsWith("count_tokens")) all.push(post(path, { ...body, model, stream: true }));
      }
    }
  }
  for (const fault of FAULTS) {
    for (const [path, body] of unaryBodies(content, fault)) {
      all.push(
        post(path, body, {
          "idempotency-key": `${planted.headers["idempotency-key"] ?? ""}-${fault}-${path.slice(4)}`,
        }),
      );
    }
  }
  const bad = badBodies(content);
  for (const path of [
    ...Object.keys(generateBodies(content)),
    "/v1/embeddings",
    "/v1/rerank",
    "/v1/moderations",
  ]) {
    for (const body of bad) all.push(post(path, body));
    all.push(
      post(path, {
        ...generateBodies(content)[path]?.[0],
        crash: "CRASH-THE-HANDLER",
        model: "chat-ok",
      }),
    );
    all.push(post(path, bad[0] ?? "", { authorization: `Bearer ${planted.wrongKey}` }));
    all.push(post(path, bad[0] ?? "", { authorization: `Bearer ${key.slice(0, -3)}xyz` }));
    all.push(post(path, bad[0] ?? "", { "x-api-key": planted.wrongKey }));
    all.push(post(path, bad[0] ?? "", { "content-type": `text/${planted.path}` }));
  }
  for (const operation of ["chat.completions", content["wrong type"]]) {
    const simulated = {
      model: content["model name"],
      request: generateBodies(content)["/v1/chat/completions"]?.[0],
    };
    all.push({
      ...post("/v1/route/simulate", simulated),
      path: `/v1/route/simulate?operation=${operation}`,
    });
  }
  for (const path of [
    `/v1/${planted.path}`,
    `/v1/models/${planted.path}`,
    `/api/v1/models/${planted.path}`,
    `/%zz${planted.path}`,
    "/v1/models",
    "/status",
  ]) {
    all.push({ ...post(path, ""), method: "GET", body: null });
  }
  return all;
}

type Content = RequestCanaries["content"];

function generateBodies(content: Content): Readonly<Record<string, readonly object[]>> {
  const { prompt, system, user } = content;
  const args = JSON.stringify({ city: content["tool argument"] });
  const schema = {
    type: "object",
    properties: { city: { type: "string", description: content["tool schema"] } },
  };
  const tool = { name: "lookup", description: content["tool description"] };
  const file = {
    filename: `${content["file name"]}.pdf`,
    file_data: `data:application/pdf;base64,${btoa(content["file data"])}`,
  };
  const image = {
    type: "image_url",
    image_url: { url: `https://example.com/${content["image address"]}.png` },
  };
  return {
    "/v1/chat/completions": [
      {
        messages: [
          { role: "system", content: system },
          { role: "user", content: prompt },
        ],
        user,
        prompt_cache_key: content["cache key"],
      },
      {
        messages: [
          { role: "user", content: prompt },
          {
            role: "assistant",
            content: null,
            tool_calls: [
              { id: "call_1", type: "function", function: { name: "lookup", arguments: args } },
            ],
          },
          { role: "tool", tool_call_id: "call_1", content: content["tool result"] },
        ],
        tools: [{ type: "function", function: { ...tool, parameters: schema } }],
        metadata: { note: content.metadata },
        stop: [content["stop sequence"]],
      },
      {
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: prompt },
              { type: "file", file },
            ],
          },
        ],
      },
      { messages: [{ role: "user", content: [{ type: "text", text: prompt }, image] }] },
    ],
    "/v1/completions": [
      { prompt, suffix: system },
      { prompt, user, stop: content["stop sequence"] },
    ],
    "/v1/responses": [
      {
        input: prompt,
        instructions: system,
        store: false,
        metadata: { note: content.metadata },
        user,
      },
      {
        input: [
          { role: "user", content: [{ type: "input_text", text: prompt }] },
          { type: "function_call", call_id: "call_1", name: "lookup", arguments: args },
          { type: "function_call_output", call_id: "call_1", output: content["tool result"] },
        ],
        tools: [{ type: "function", ...tool, parameters: schema, strict: false }],
        store: false,
      },
      { input: [{ role: "user", content: [{ type: "input_file", ...file }] }], store: false },
    ],
    "/api/v1/messages": [
      {
        max_tokens: 100,
        system,
        messages: [{ role: "user", content: prompt }],
        metadata: { user_id: user },
      },
      {
        max_tokens: 100,
        messages: [
          { role: "user", content: prompt },
          {
            role: "assistant",
            content: [
              {
                type: "tool_use",
                id: "call_1",
                name: "lookup",
                input: { city: content["tool argument"] },
              },
            ],
          },
          {
            role: "user",
            content: [
              { type: "tool_result", tool_use_id: "call_1", content: content["tool result"] },
            ],
          },
        ],
        tools: [{ ...tool, input_schema: schema }],
        stop_sequences: [content["stop sequence"]],
      },
    ],
    "/api/v1/messages/count_tokens": [{ system, messages: [{ role: "user", content: prompt }] }],
  };
}

function unaryBodies(
  content: Content,
  fault: string,
): readonly (readonly [path: string, body: object])[] {
  const model = (kind: keyof typeof OTHER_ROUTES): string => `${kind}-${fault}`;
  return [
    [
      "/v1/embeddings",
      { model: model("embed"), input: [content["embedding input"], "second"], user: content.user },
    ],
    [
      "/v1/rerank",
      {
        model: model("rerank"),
        query: content.prompt,
        documents: [content.document, "other"],
        return_documents: false,
      },
    ],
    ["/v1/moderations", { model: model("moderate"), input: content["moderation input"] }],
  ];
}

/** Bodies that are refused wherever they are sent. */
function badBodies(content: Content): readonly (string | object)[] {
  const messages = [{ role: "user", content: content.prompt }];
  const whole = {
    messages,
    prompt: content.prompt,
    input: content.prompt,
    max_tokens: 5,
    query: content.prompt,
    documents: [content.document],
  };
  return [
    `{"messages": [{"role": "user", "content": "${content["broken JSON"]}`,
    content["broken JSON"],
    { ...whole, model: content["model name"] },
    { ...whole, model: "chat-ok", temperature: content["wrong type"] },
    {
      ...whole,
      model: "chat-ok",
      messages: [{ role: content["wrong type"], content: content["wrong type"] }],
    },
    { ...whole, model: "chat-ok", [content["member name"]]: content["wrong type"] },
    {
      ...whole,
      model: "chat-ok",
      metadata: { [content["member name"]]: { deep: content["wrong type"] } },
    },
    { ...whole, model: "chat-ok", provider: { only: [content["provider preference"]] } },
    {
      ...whole,
      model: "chat-ok",
      provider: { [content["member name"]]: content["provider preference"] },
    },
    {
      ...whole,
      model: "chat-ok",
      tools: [{ type: content["wrong type"], function: { name: content["wrong type"] } }],
    },
    { ...whole, model: "chat-ok", response_format: { type: content["wrong type"] } },
    { ...whole, model: "chat-ok", previous_response_id: content["wrong type"] },
  ];
}
