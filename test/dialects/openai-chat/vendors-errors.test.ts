import { describe, expect, it } from "vitest";
import type { FailureKind } from "../../../src/canon/failure.ts";
import type { JsonValue } from "../../../src/canon/json.ts";
import { chatSurface } from "../../../src/dialects/openai-chat/dialect.ts";
import { contextOf, targetOf } from "../laws/target.ts";
import { parse } from "./bodies.ts";
import { canon } from "./canon.ts";
import { upstreamFor } from "../../../src/dialects/exchange-plan.ts";

const chatUpstream = upstreamFor("generate", "openai-chat");

const target = targetOf("openai-chat");
const encoder = new TextEncoder();

describe("errors as vendors answer them", () => {
  it.each<[string, number, JsonValue, FailureKind, string | null]>([
    [
      "OpenAI",
      400,
      {
        error: {
          message: "m",
          type: "invalid_request_error",
          param: "p",
          code: "unsupported_value",
        },
      },
      "rejected",
      "unsupported_value",
    ],
    [
      "Azure's content filter",
      400,
      {
        error: {
          message: "m",
          type: null,
          param: "prompt",
          code: "content_filter",
          status: 400,
          innererror: { code: "ResponsibleAIPolicyViolation" },
        },
      },
      "rejected",
      "content_filter",
    ],
    ["Azure's gateway", 401, { error: { code: "401", message: "m" } }, "auth", null],
    ["Mistral's gateway", 401, { detail: "m" }, "auth", null],
    [
      "Mistral's validation",
      422,
      {
        object: "error",
        message: { detail: [{ type: "extra_forbidden" }] },
        type: "invalid_request_error",
        code: null,
      },
      "rejected",
      null,
    ],
    [
      "Groq",
      400,
      {
        error: {
          message: "m",
          type: "invalid_request_error",
          code: "tool_use_failed",
          failed_generation: "secret",
        },
      },
      "rejected",
      "tool_use_failed",
    ],
    [
      "DeepSeek",
      402,
      {
        error: { message: "m", type: "unknown_error", param: null, code: "invalid_request_error" },
      },
      "auth",
      null,
    ],
    [
      "OpenRouter",
      429,
      { error: { message: "m", code: 429, metadata: { raw: "secret" } }, user_id: "u" },
      "rate_limited",
      null,
    ],
    ["xAI", 400, { code: "Client specified an invalid argument", error: "m" }, "rejected", null],
    [
      "vLLM, older",
      400,
      { object: "error", message: "m", type: "BadRequestError", param: null, code: 400 },
      "rejected",
      null,
    ],
    ["Ollama", 404, { error: "model not found" }, "not_found", null],
    [
      "Perplexity",
      400,
      { error: { message: "m", type: "too_many_prompt_tokens", code: 400 } },
      "rejected",
      "context_length_exceeded",
    ],
  ])("%s: status %i with %j is %s", (_name, status, body, kind, code) => {
    const failure = chatUpstream.readError(status, encoder.encode(JSON.stringify(body)));
    // The member is judged where the request is known (test/http/callers-mistakes.test.ts).
    const { param: _, ...rest } = failure;
    expect(rest).toEqual({ kind, status, retryAfter: null, code });
  });

  it.each<[string, JsonValue]>([
    ["with status 200 as a member", { error: { message: "m", code: 502 }, choices: [] }],
    ["with status 200 as the body", { object: "error", message: "m", code: 500 }],
  ])("an error %s is a failure", (_name, body) => {
    const bytes = encoder.encode(JSON.stringify(body));
    const { ending } = chatSurface.relay.readAnswer(bytes, contextOf(parse({})));
    expect(ending.failure?.kind).toBe("error_frame");
    expect(chatUpstream.parseAnswer(bytes, canon(), target).at(-1)).toMatchObject({
      type: "failure",
      failure: { kind: "error_frame" },
    });
  });
});
