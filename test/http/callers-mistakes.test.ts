import { describe, expect, it } from "vitest";
import type { GenerateDialect } from "../../src/dialects/table.ts";
import { refusedRequest } from "../../src/dispatch/failures.ts";
import {
  answerJson,
  errorOf,
  startRouter,
  startUpstream,
  type Router,
  type Upstream,
} from "../support/router.ts";
import { endpoint, provider, route, table } from "../support/table.ts";
import { upstreamFor } from "../../src/dialects/exchange-plan.ts";

const NOT_FOUND = {
  error: {
    message: "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.",
    type: "invalid_request_error",
    param: "input",
    code: null,
  },
};

const RESPONSE = {
  id: "resp_1",
  object: "response",
  status: "completed",
  output: [
    {
      type: "message",
      id: "msg_1",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: "hi" }],
    },
  ],
  usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
};

function routerOver(first: Upstream, second: Upstream): Promise<Router> {
  const row = (id: string, upstream: Upstream) =>
    provider(id, {
      baseUrl: `${upstream.url}/v1`,
      dialect: "openai-responses",
      auth: { kind: "none" },
    });
  const base = table({
    providers: [row("p", first), row("q", second)],
    endpoints: [
      endpoint("a", { dialect: "openai-responses" }),
      endpoint("b", { dialect: "openai-responses", provider: "q" }),
    ],
    routes: [route("r", "a", ["b"])],
  });
  const workspace = base.workspaces.w;
  if (workspace === undefined) throw new Error("no workspace");
  return startRouter({
    table: {
      ...base,
      workspaces: { w: { ...workspace, approve: { ...workspace.approve, providers: ["p", "q"] } } },
    },
  });
}

function ask(router: Router, more: object = {}): Promise<Response> {
  return fetch(`${router.url}/v1/responses`, {
    method: "POST",
    headers: { authorization: "Bearer good", "content-type": "application/json" },
    body: JSON.stringify({ model: "r", input: "hello", ...more }),
  });
}

describe("a whole Response that failed because of the request", () => {
  it.each(["invalid_prompt", "failed_to_download_image"])(
    "with %s is the caller's 400 and reaches no other provider",
    async (code) => {
      const failed = {
        ...RESPONSE,
        status: "failed",
        error: { code, message: "secret" },
        output: [],
      };
      const first = await startUpstream((response) => answerJson(response, failed));
      const second = await startUpstream((response) => answerJson(response, RESPONSE));
      const refused = await ask(await routerOver(first, second));
      expect([refused.status, refused.headers.get("x-should-retry")]).toEqual([400, "false"]);
      expect(await errorOf(refused)).toMatchObject({ code, type: "invalid_request_error" });
      expect([first.calls.length, second.calls.length]).toEqual([1, 0]);
    },
  );
});

describe("a provider's 404 that names a member of the request", () => {
  it("is the caller's 400, reaches no other provider, and never ejects an endpoint", async () => {
    let mistakes = 8;
    const first = await startUpstream((response) => {
      if (mistakes > 0) answerJson(response, NOT_FOUND, 404);
      else answerJson(response, RESPONSE);
      mistakes -= 1;
    });
    const second = await startUpstream((response) => answerJson(response, RESPONSE));
    const router = await routerOver(first, second);
    for (let count = 0; count < 8; count += 1) {
      const refused = await ask(router);
      expect([refused.status, refused.headers.get("x-should-retry")]).toEqual([400, "false"]);
      const error = await errorOf(refused);
      expect(error).toMatchObject({
        code: "upstream_rejected",
        param: "input",
        type: "invalid_request_error",
      });
      expect(error.message).not.toContain("rs_1");
    }
    const answered = await ask(router);
    expect(answered.headers.get("x-signalbox-route")).toContain("endpoint=a;");
    expect(second.calls).toHaveLength(0);
    await router.settled(9);
    expect(router.outcomes[0]?.attempts.map(({ failure }) => failure)).toEqual(["rejected"]);
  });

  it("is the operator's where it names the model, nothing, or a member that was not sent", async () => {
    for (const param of ["model", null, "deployment"]) {
      const first = await startUpstream((response) =>
        answerJson(response, { error: { message: "no", param } }, 404),
      );
      const second = await startUpstream((response) => answerJson(response, RESPONSE));
      const answered = await ask(await routerOver(first, second));
      expect([answered.status, second.calls.length], String(param)).toEqual([200, 1]);
    }
  });
});

describe("a provider's refusal of a member", () => {
  it.each([
    [
      { code: "unsupported_parameter", param: "max_output_tokens" },
      "unsupported_parameter",
      "the model does not support it",
    ],
    [
      {
        message: "Unsupported parameter: 'max_output_tokens' is not supported with this model.",
        code: null,
      },
      "unsupported_parameter",
      "the model does not support it",
    ],
    [
      { code: "invalid_value", param: "max_output_tokens" },
      "invalid_value",
      "its value is not valid",
    ],
  ])("%j keeps its member and its reason", async (error, code, reason) => {
    const first = await startUpstream((response) => answerJson(response, { error }, 400));
    const refused = await ask(await routerOver(first, first), { max_output_tokens: 20 });
    expect(await errorOf(refused)).toMatchObject({
      code,
      param: "max_output_tokens",
      message: expect.stringContaining(`at max_output_tokens: ${reason}.`),
    });
  });

  it("does not name a member that the caller has not sent", async () => {
    const first = await startUpstream((response) =>
      answerJson(
        response,
        { error: { code: "unsupported_parameter", param: "a_secret_text" } },
        400,
      ),
    );
    const refused = await ask(await routerOver(first, first));
    const error = await errorOf(refused);
    expect(error).toMatchObject({ code: "unsupported_parameter", param: null });
    expect(error.message).not.toContain("a_secret_text");
  });
});

/** How each dialect says that the caller is at fault, by status, and what is not the caller's. */
const CHAT: readonly Case[] = [
  [404, { error: { param: "input[3]", message: "m" } }, "rejected", "input[3]"],
  [404, { error: { param: "model", code: "model_not_found" } }, "not_found", undefined],
  [404, { error: { param: "elsewhere" } }, "not_found", undefined],
  [404, {}, "not_found", undefined],
  [403, { error: { code: "content_policy_violation" } }, "rejected", undefined],
  [403, { error: { message: "no" } }, "auth", undefined],
  [403, { error: { param: "input" } }, "rejected", "input"],
  [401, { error: { param: "input", code: "invalid_value" } }, "auth", undefined],
  [500, { error: { code: "context_length_exceeded" } }, "rejected", undefined],
  [500, { error: { param: "input" } }, "server_error", undefined],
  [503, { error: {} }, "overloaded", undefined],
  [400, { error: { code: "unsupported_parameter", param: "input" } }, "rejected", "input"],
  [
    422,
    { detail: [{ type: "extra_forbidden", loc: ["body", "input"], msg: "m" }] },
    "rejected",
    "input",
  ],
];

type Case = readonly [status: number, body: object, kind: string, param: string | undefined];

const CASES: Readonly<Record<GenerateDialect, readonly Case[]>> = {
  "openai-chat": CHAT,
  "openai-completions": CHAT,
  "openai-responses": CHAT,
  "anthropic-messages": [
    [404, { error: { type: "not_found_error", message: "model: m" } }, "not_found", undefined],
    [
      404,
      { error: { type: "not_found_error", message: "input.0.content: no such file" } },
      "rejected",
      "input[0]",
    ],
    [403, { error: { type: "permission_error", message: "no" } }, "auth", undefined],
    [
      400,
      {
        error: { type: "invalid_request_error", message: "input: Extra inputs are not permitted" },
      },
      "rejected",
      "input",
    ],
    [500, { error: { type: "api_error", message: "prompt is too long" } }, "rejected", undefined],
    [529, { error: { type: "overloaded_error" } }, "overloaded", undefined],
  ],
  gemini: [
    [
      404,
      { error: { status: "NOT_FOUND", message: "models/m is not found" } },
      "not_found",
      undefined,
    ],
    [
      404,
      {
        error: {
          status: "NOT_FOUND",
          details: [{ fieldViolations: [{ field: "input[1].fileData" }] }],
        },
      },
      "rejected",
      "input[1]",
    ],
    [403, { error: { status: "PERMISSION_DENIED" } }, "auth", undefined],
    [
      500,
      { error: { status: "INTERNAL", message: "The input token count (2) exceeds" } },
      "rejected",
      undefined,
    ],
    [500, { error: { status: "INTERNAL" } }, "server_error", undefined],
  ],
  "bedrock-converse": [
    [404, { __type: "ResourceNotFoundException" }, "not_found", undefined],
    [403, { __type: "AccessDeniedException" }, "auth", undefined],
    [
      424,
      { __type: "ModelErrorException", message: "Input is too long for requested model" },
      "rejected",
      undefined,
    ],
    [424, { __type: "ModelErrorException" }, "server_error", undefined],
    [400, { __type: "ValidationException" }, "rejected", undefined],
  ],
  "cohere-chat": [
    [404, { message: "model not found" }, "not_found", undefined],
    [500, { message: "too many tokens: size limit exceeded" }, "rejected", undefined],
    [500, { message: "internal" }, "server_error", undefined],
  ],
};

describe("the attribution of an error status", () => {
  const rows = Object.entries(CASES).flatMap(([dialect, cases]) =>
    cases.map((one) => [dialect, ...one] as const),
  );
  it.each(rows)("%s %i %j: %s", (dialect, status, body, kind, param) => {
    const upstream = upstreamFor("generate", dialect);
    const failure = upstream.readError(status, new TextEncoder().encode(JSON.stringify(body)));
    const sent = {
      body: '{"model":"m","input":"hello"}',
      callers: { model: "r", input: "hello" },
      dialect,
    };
    expect(refusedRequest(failure, sent)).toMatchObject({
      kind,
      ...(param !== undefined && { param }),
    });
    expect(refusedRequest(failure, sent).param).toBe(param);
  });

  it("names no member of a translated request that the caller has not sent", () => {
    const failure = {
      kind: "not_found",
      status: 404,
      retryAfter: null,
      code: null,
      param: "input",
    } as const;
    const sent = {
      body: '{"model":"m","input":"hello"}',
      callers: { model: "r", messages: [] },
      dialect: "openai-chat",
    };
    expect(refusedRequest(failure, sent)).toEqual({
      kind: "rejected",
      status: 404,
      retryAfter: null,
      code: null,
    });
  });
});

describe("native Responses with storing turned off by the router", () => {
  const sentBy = async (
    capabilities: readonly ["reasoning"] | readonly [],
    more: object,
  ): Promise<unknown> => {
    const upstream = await startUpstream((response) => answerJson(response, RESPONSE));
    const base = table({
      providers: [
        provider("p", {
          baseUrl: `${upstream.url}/v1`,
          dialect: "openai-responses",
          auth: { kind: "none" },
        }),
      ],
      endpoints: [endpoint("a", { dialect: "openai-responses", capabilities })],
      routes: [route("r", "a", [])],
    });
    const answered = await ask(await startRouter({ table: base }), more);
    const edits = answered.headers.get("x-signalbox-edits") ?? "";
    const { include } = JSON.parse(upstream.calls[0]?.body ?? "{}");
    return [include, edits.includes("encrypted_reasoning_requested")];
  };

  it("request encrypted reasoning of a model that reasons, on record", async () => {
    expect(await sentBy(["reasoning"], {})).toEqual([["reasoning.encrypted_content"], true]);
  });

  it("keep the caller's other settings", async () => {
    expect(await sentBy(["reasoning"], { store: false })).toEqual([undefined, false]);
    expect(await sentBy([], {})).toEqual([undefined, false]);
    const include = ["reasoning.encrypted_content"];
    expect(await sentBy(["reasoning"], { include })).toEqual([include, false]);
  });
});

/** A router over one provider that speaks chat completions. */
async function routerOverChat(upstream: Upstream): Promise<Router> {
  return startRouter({
    table: table({
      providers: [provider("p", { baseUrl: `${upstream.url}/v1`, auth: { kind: "none" } })],
      endpoints: [endpoint("a")],
      routes: [route("r", "a", [])],
    }),
  });
}

function post(router: Router, path: string, body: object): Promise<Response> {
  return fetch(router.url + path, {
    method: "POST",
    headers: { authorization: "Bearer good", "content-type": "application/json" },
    body: JSON.stringify({ model: "r", ...body }),
  });
}

const MESSAGES = [{ role: "user", content: "hello" }];

const SURFACES: readonly (readonly [path: string, body: object])[] = [
  ["/v1/chat/completions", { messages: MESSAGES }],
  ["/v1/responses", { input: "hello" }],
  ["/api/v1/messages", { messages: MESSAGES, max_tokens: 9 }],
];

describe.each(SURFACES)("at %s", (path, body) => {
  it("an error event with code 429 before any output has that status", async () => {
    const upstream = await startUpstream((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end('data: {"error":{"message":"m","code":429}}\n\ndata: [DONE]\n\n');
    });
    const answered = await post(await routerOverChat(upstream), path, { ...body, stream: true });
    expect(answered.status).toBe(429);
  });

  it("a refused `store` of the router's own names itself and its flag, in the evidence too", async () => {
    const message =
      "litellm.UnsupportedParamsError: anthropic does not support parameters: ['store'], for model=m";
    const upstream = await startUpstream((response) =>
      answerJson(response, { error: { message } }, 400),
    );
    const router = await routerOverChat(upstream);
    const refused = await post(router, path, body);
    expect([refused.status, await refused.text()]).toEqual([
      400,
      expect.stringContaining("no_store_field"),
    ]);
    await router.settled(1);
    expect(router.outcomes[0]?.attempts).toMatchObject([
      { failure: "rejected", flag: "no_store_field" },
    ]);
  });

  it("a conversation that is too long for vLLM has the sentence that agents look for", async () => {
    const message =
      "This model's maximum context length is 8 tokens. However, you requested 9 tokens";
    const upstream = await startUpstream((response) =>
      answerJson(
        response,
        { error: { message, type: "BadRequestError", param: null, code: 400 } },
        400,
      ),
    );
    const refused = await post(await routerOverChat(upstream), path, body);
    const text = await refused.text();
    expect(refused.status).toBe(400);
    expect(text).toContain("context_length_exceeded");
    expect(text).toContain("prompt is too long");
  });
});
