import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { isJsonObject, type JsonObject } from "../../../src/canon/json.ts";
import type { InferenceRequest } from "../../../src/canon/request.ts";
import type { UnknownFields } from "../../../src/canon/table.ts";
import { parseJsonBytes } from "../../../src/dialects/json.ts";
import {
  COMPLETIONS_FIELDS,
  completionsSurface,
} from "../../../src/dialects/openai-completions/dialect.ts";
import { NO_EDITS, NO_HEADERS, targetOf } from "../laws/target.ts";
import { PROVIDER_PREFERENCES_SCHEMA } from "../../../src/dialects/contract-schemas.ts";
import { upstreamFor } from "../../../src/dialects/exchange-plan.ts";

const completionsUpstream = upstreamFor("generate", "openai-completions");

const schema = completionsSurface.contract.body;
const properties = schema.properties as JsonObject;
const minimal = { model: "r", prompt: "Once upon a time" } as const;

function parse(more: JsonObject): InferenceRequest {
  const request = completionsSurface.parse({ ...minimal, ...more }, 100, NO_HEADERS);
  if ("code" in request) throw new Error(`refused: ${request.message}`);
  return request;
}

describe("the schema", () => {
  const ajv = new Ajv2020({ strict: false });
  ajv.addSchema({
    $id: "https://signalbox.invalid/api",
    components: { schemas: { ProviderPreferences: PROVIDER_PREFERENCES_SCHEMA } },
  });
  const validate = ajv.compile({
    ...schema,
    $id: "https://signalbox.invalid/body",
    properties: { ...properties, provider: PROVIDER_PREFERENCES_SCHEMA },
  });

  it.each<[string, JsonObject]>([
    ["a text", { prompt: "x" }],
    ["an empty text", { prompt: "" }],
    ["texts", { prompt: ["a", "b"] }],
    ["tokens", { prompt: [1, 2, 3] }],
    ["lists of tokens", { prompt: [[1], [2, 3]] }],
    [
      "nulls everywhere else",
      {
        prompt: "x",
        suffix: null,
        echo: null,
        best_of: null,
        n: null,
        logprobs: null,
        max_tokens: null,
        temperature: null,
        top_p: null,
        frequency_penalty: null,
        presence_penalty: null,
        logit_bias: null,
        seed: null,
        stop: null,
        user: null,
        stream: null,
        stream_options: null,
        provider: null,
      },
    ],
  ])("accepts %s", (_name, more) => {
    expect(validate({ model: "r", ...more }), JSON.stringify(validate.errors)).toBe(true);
  });

  it.each<[string, JsonObject]>([
    ["no prompt", {}],
    ["an empty list", { prompt: [] }],
    ["a list of an empty list", { prompt: [[]] }],
    ["a mixed list", { prompt: ["a", 1] }],
    ["a fraction as token", { prompt: [1.5] }],
    ["a temperature above 2", { prompt: "x", temperature: 2.1 }],
    ["six logprobs", { prompt: "x", logprobs: 6 }],
    ["n of 0", { prompt: "x", n: 0 }],
    ["best_of 21", { prompt: "x", best_of: 21 }],
    ["a bias that is text", { prompt: "x", logit_bias: { 50256: "-100" } }],
    ["a stop that is a number", { prompt: "x", stop: 3 }],
  ])("refuses %s", (_name, more) => {
    expect(validate({ model: "r", ...more })).toBe(false);
  });

  it("and the field registry list the same members", () => {
    expect(Object.keys(properties).toSorted()).toEqual(Object.keys(COMPLETIONS_FIELDS).toSorted());
  });
});

describe("the parser of a body", () => {
  it.each<[string, JsonObject, readonly string[], readonly string[]]>([
    ["a plain text", {}, [], []],
    ["a list of one text", { prompt: ["a"] }, [], []],
    ["two texts", { prompt: ["a", "b"] }, [], ["native_completions"]],
    ["tokens", { prompt: [1, 2] }, [], ["native_completions"]],
    ["one list of tokens", { prompt: [[1, 2]] }, [], ["native_completions"]],
    ["an empty prompt", { prompt: "" }, [], ["native_completions"]],
    ["a suffix", { suffix: "the end" }, [], ["native_completions"]],
    ["echo", { echo: true }, [], ["native_completions"]],
    ["no echo", { echo: false }, [], []],
    ["logprobs 0", { logprobs: 0 }, ["logprobs"], ["native_completions"]],
    ["n of 2", { n: 2 }, ["multiple_choices"], ["native_completions"]],
    ["best_of 2", { best_of: 2 }, ["multiple_choices"], ["native_completions"]],
    ["n and best_of of 1", { n: 1, best_of: 1 }, [], []],
    ["no output at all", { max_tokens: 0 }, [], ["native_completions"]],
    ["sampling", { temperature: 0.5, top_p: 0.5 }, [], ["sampling"]],
    ["a hot temperature", { temperature: 1.5 }, [], ["sampling", "temperature_above_1"]],
    ["a penalty", { presence_penalty: 1 }, [], ["penalties"]],
    ["a negative penalty", { presence_penalty: -1 }, [], ["penalties", "penalties_outside_0_1"]],
    [
      "penalties of zero and an empty bias",
      { presence_penalty: 0, frequency_penalty: 0, logit_bias: {} },
      [],
      [],
    ],
    ["a bias", { logit_bias: { 50256: -100 } }, [], ["logit_bias"]],
    ["a seed", { seed: 0 }, [], ["seed"]],
    ["a stop sequence", { stop: "." }, [], ["stop_sequences"]],
    ["a blank stop sequence", { stop: "\n" }, [], ["stop_sequences", "stop_sequences_blank"]],
    ["four stop sequences", { stop: ["a", "b", "c", "d"] }, [], ["stop_sequences"]],
    [
      "five stop sequences",
      { stop: ["a", "b", "c", "d", "e"] },
      [],
      ["stop_sequences", "stop_sequences_over_4"],
    ],
    ["an empty list of stop sequences", { stop: [] }, [], []],
  ])("finds the requirements of %s", (_name, more, needs, features) => {
    const { shape, paths } = parse(more);
    expect([shape.needs, shape.features]).toEqual([needs, features]);
    expect([...paths.keys()].toSorted()).toEqual([...needs, ...features].toSorted());
    for (const path of paths.values()) expect(Object.keys(more)).toContain(path);
  });

  it.each<[string, JsonObject, string, string]>([
    ["store", { store: true }, "unsupported_stateful_feature", "store"],
    [
      "an earlier answer",
      { previous_response_id: "resp_1" },
      "unsupported_stateful_feature",
      "previous_response_id",
    ],
    [
      "stream options without a stream",
      { stream_options: {} },
      "invalid_stream_options",
      "stream_options",
    ],
    [
      "a bias that is a number of no size",
      parsed('{"logit_bias": 123456789012345678901}'),
      "invalid_type",
      "logit_bias",
    ],
  ])("%s is refused by name", (_name, more, code, param) => {
    expect(completionsSurface.parse({ ...minimal, ...more }, 100, NO_HEADERS)).toMatchObject({
      status: 400,
      code,
      param,
    });
  });

  it("reads stream, usage wish, sizes and preferences", () => {
    const body = {
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 2_000,
      provider: { only: ["p"] },
    };
    expect(completionsSurface.parse({ ...minimal, ...body }, 20_000, NO_HEADERS)).toMatchObject({
      model: "r",
      includeUsage: true,
      preferences: { only: ["p"] },
      shape: { operation: "completions", stream: true, context: "to_16k", maxOutput: "to_4k" },
    });
  });
});

function parsed(text: string): JsonObject {
  const value = parseJsonBytes(new TextEncoder().encode(text));
  if (!isJsonObject(value)) throw new Error("not an object");
  return value;
}

describe("unknown members", () => {
  it("are refused with the nearest name, and never quoted where they look like text", () => {
    expect(completionsSurface.refuseUnknown({ ...minimal, temprature: 1 }, "reject")).toMatchObject(
      {
        code: "unknown_field",
        param: "temprature",
        message: "Unknown field temprature; did you mean temperature?",
      },
    );
    const secret = completionsSurface.refuseUnknown(
      { ...minimal, "my secret prompt": 1 },
      "reject",
    );
    expect(secret).toMatchObject({ code: "unknown_field", param: null });
    expect(JSON.stringify(secret)).not.toContain("secret");
  });

  it.each<UnknownFields>(["strip", "forward"])("pass where the route says %s", (mode) => {
    expect(completionsSurface.refuseUnknown({ ...minimal, top_k: 1 }, mode)).toBeNull();
  });
});

describe("the relay's request", () => {
  const { endpoint, provider } = targetOf("openai-completions");
  const edit = (
    more: JsonObject,
    mode: UnknownFields = "reject",
    edits = NO_EDITS,
    flags: readonly string[] = [],
  ) => completionsSurface.relay.edit(parse(more), endpoint, { ...provider, flags }, mode, edits);

  it("differs from the caller's only in the router's members", () => {
    const more = {
      suffix: "s",
      echo: true,
      n: 2,
      best_of: 3,
      logprobs: 2,
      logit_bias: { 1: 2 },
      stop: ["x"],
      prompt: [[1, 2]],
    };
    const { body, stripped, headers } = edit({ ...more, user: "u-1", provider: { zdr: true } });
    expect({ ...body }).toEqual({ ...minimal, ...more, model: endpoint.upstreamModel });
    expect([stripped, headers]).toEqual([["user"], []]);
    expect(completionsSurface.relay.path(endpoint)).toBe("/completions");
  });

  it("requests usage on streams, keeping the caller's options, unless the provider refuses them", () => {
    const stream = { stream: true, stream_options: { include_obfuscation: false } };
    expect(edit(stream).body.stream_options).toEqual({
      include_obfuscation: false,
      include_usage: true,
    });
    expect(edit({}).body).not.toHaveProperty("stream_options");
    const flagged = edit(stream, "reject", NO_EDITS, ["no_stream_options"]);
    expect(flagged.body).not.toHaveProperty("stream_options");
    expect(flagged.stripped).toEqual(["stream_options"]);
  });

  it.each([
    [{}, 50],
    [{ max_tokens: 500 }, 50],
    [{ max_tokens: 5 }, 5],
  ])("caps the output of %j", (more, sent) => {
    expect(edit(more, "reject", { maxOutputTokens: 50, stripFields: [] }).body.max_tokens).toBe(
      sent,
    );
  });

  it("forwards or strips unknown members, and omits a policy's members", () => {
    expect(edit({ top_k: 1 }, "forward").body).toHaveProperty("top_k", 1);
    const stripped = edit({ top_k: 1, metadata: {} }, "strip");
    expect(stripped.body).not.toHaveProperty("top_k");
    expect(stripped.stripped).toEqual(["unknown_field", "unknown_field"]);
    const policy = edit({ service_tier: "flex" }, "forward", {
      maxOutputTokens: null,
      stripFields: ["service_tier"],
    });
    expect(policy.body).not.toHaveProperty("service_tier");
    expect(policy.stripped).toEqual(["service_tier"]);
  });
});

describe("a request for another protocol", () => {
  const translate = (more: JsonObject, mode: UnknownFields = "reject", edits = NO_EDITS) =>
    completionsSurface.translation.toCanon(parse(more), mode, edits);

  it("is one user turn, with every member mapped", () => {
    const sampling = {
      temperature: 0.5,
      top_p: 0.25,
      frequency_penalty: 1,
      presence_penalty: -1,
      seed: 7,
    };
    const more = {
      ...sampling,
      logit_bias: { 1: 2 },
      stop: ["a", "b"],
      max_tokens: 9,
      stream: true,
      stream_options: { include_usage: true },
    };
    expect(translate({ ...more, user: "u-1", n: 1, echo: false })).toEqual({
      stripped: ["user"],
      dropped: ["prompt_as_message"],
      request: {
        purpose: "generate",
        turns: [
          {
            role: "user",
            name: null,
            content: [{ kind: "text", text: minimal.prompt, cache: null }],
          },
        ],
        tools: [],
        toolChoice: null,
        parallelToolCalls: null,
        format: null,
        maxOutputTokens: 9,
        temperature: 0.5,
        topP: 0.25,
        topK: null,
        frequencyPenalty: 1,
        presencePenalty: -1,
        logitBias: { 1: 2 },
        seed: 7,
        stop: ["a", "b"],
        logprobs: null,
        reasoning: null,
        verbosity: null,
        hints: { serviceTier: null, promptCacheKey: null, promptCacheRetention: null },
        stream: true,
      },
    });
  });

  it("reads a list of one text as the text", () => {
    expect(translate({ prompt: ["only"] })).toMatchObject({
      request: { turns: [{ content: [{ text: "only" }] }] },
    });
  });

  it.each<[JsonObject, string]>([
    [{ prompt: ["a", "b"] }, "prompt"],
    [{ prompt: [1] }, "prompt"],
    [{ prompt: "" }, "prompt"],
    [{ suffix: "x" }, "suffix"],
    [{ echo: true }, "echo"],
    [{ best_of: 2 }, "best_of"],
    [{ n: 2 }, "n"],
    [{ logprobs: 1 }, "logprobs"],
    [{ max_tokens: 0 }, "max_tokens"],
  ])("refuses %j by name even where the decision let it through", (more, param) => {
    expect(translate(more)).toMatchObject({ status: 400, code: "feature_not_supported", param });
  });

  it.each<[UnknownFields, JsonObject, object]>([
    ["reject", { top_k: 1 }, { code: "unknown_field", param: "top_k" }],
    ["forward", { top_k: 1 }, { code: "unknown_field", param: "top_k" }],
    ["strip", { top_k: 1 }, { stripped: ["unknown_field"] }],
    ["strip", { stream: true, stream_options: { other: 1 } }, { stripped: ["unknown_field"] }],
    [
      "reject",
      { stream: true, stream_options: { other: 1 } },
      { code: "unknown_field", param: "stream_options.other" },
    ],
  ])("with unknown_fields %s, %j gives %j", (mode, more, expected) => {
    expect(translate(more, mode)).toMatchObject(expected);
  });

  it("is capped and stripped as the policy demands", () => {
    const edits = { maxOutputTokens: 50, stripFields: ["user"] } as const;
    expect(translate({ max_tokens: 80, user: "u" }, "reject", edits)).toMatchObject({
      request: { maxOutputTokens: 50 },
      stripped: ["user"],
    });
    expect(translate({}, "reject", edits)).toMatchObject({ request: { maxOutputTokens: 50 } });
    expect(translate({ max_tokens: 8 }, "reject", edits)).toMatchObject({
      request: { maxOutputTokens: 8 },
    });
  });
});

describe("another protocol's request for an endpoint of this one", () => {
  const target = targetOf("openai-completions");
  const canonical = completionsSurface.translation.toCanon(
    parse({
      temperature: 0.5,
      top_p: 0.25,
      frequency_penalty: 1,
      presence_penalty: -1,
      seed: 7,
      logit_bias: { 1: 2 },
      stop: ["a"],
      max_tokens: 9,
    }),
    "reject",
    NO_EDITS,
  );
  if ("code" in canonical) throw new Error(canonical.message);
  const { request } = canonical;

  it("is a prompt, with every member mapped", () => {
    expect(completionsUpstream.format(request, target)).toEqual({
      path: "/completions",
      headers: [],
      dropped: ["prompt_as_message"],
      body: {
        model: target.endpoint.upstreamModel,
        prompt: minimal.prompt,
        max_tokens: 9,
        temperature: 0.5,
        top_p: 0.25,
        frequency_penalty: 1,
        presence_penalty: -1,
        logit_bias: { 1: 2 },
        seed: 7,
        stop: ["a"],
      },
    });
  });

  it("requests usage on streams unless the provider refuses the member", () => {
    const streamed = { ...request, stream: true };
    expect(completionsUpstream.format(streamed, target)).toMatchObject({
      body: { stream: true, stream_options: { include_usage: true } },
    });
    const flagged = { ...target, provider: { ...target.provider, flags: ["no_stream_options"] } };
    const formatted = completionsUpstream.format(streamed, flagged);
    expect("body" in formatted && formatted.body).not.toHaveProperty("stream_options");
  });

  it("gets the model's default output limit, because the protocol's own is sixteen tokens", () => {
    const unlimited = { ...request, maxOutputTokens: null };
    const limited = { ...target, model: { ...target.model, defaultMaxOutputTokens: 1_024 } };
    expect(completionsUpstream.format(unlimited, limited)).toMatchObject({
      body: { max_tokens: 1_024 },
      dropped: ["prompt_as_message", "output_limit_defaulted"],
    });
    const without = completionsUpstream.format(unlimited, {
      ...target,
      model: { ...target.model, defaultMaxOutputTokens: null },
    });
    expect("body" in without && without.body).not.toHaveProperty("max_tokens");
  });

  it("omits and records hints", () => {
    const formatted = completionsUpstream.format(
      {
        ...request,
        turns: [
          {
            role: "user",
            name: "ann",
            content: [
              { kind: "text", text: "a", cache: { ttl: null } },
              { kind: "text", text: "b", cache: null },
            ],
          },
        ],
        hints: { serviceTier: "flex", promptCacheKey: "k", promptCacheRetention: null },
        reasoning: { effort: "unspecified", budget: null, adaptive: false, display: "auto" },
        parallelToolCalls: true,
      },
      target,
    );
    expect(formatted).toMatchObject({
      body: { prompt: "ab" },
      dropped: [
        "hint_dropped",
        "participant_name_dropped",
        "cache_mark_dropped",
        "prompt_as_message",
        "service_tier_changed",
        "cache_hint_dropped",
        "reasoning_display_dropped",
      ],
    });
  });

  it.each<[string, object]>([
    ["counting", { purpose: "count" }],
    ["system text", { turns: [{ role: "system", authority: "system", content: [] }] }],
    ["two turns", { turns: [...request.turns, ...request.turns] }],
    [
      "an image",
      {
        turns: [
          {
            role: "user",
            name: null,
            content: [
              {
                kind: "image",
                source: { kind: "url", url: "https://a.example/b.png" },
                detail: null,
                cache: null,
              },
            ],
          },
        ],
      },
    ],
    [
      "tools",
      { tools: [{ name: "f", description: null, parameters: null, strict: null, cache: null }] },
    ],
    ["a format", { format: { kind: "json_object" } }],
    ["top_k", { topK: 1 }],
    ["log probabilities", { logprobs: 0 }],
    ["an effort", { reasoning: { effort: "low", budget: null, adaptive: false, display: null } }],
    [
      "a budget",
      { reasoning: { effort: "unspecified", budget: 2_048, adaptive: false, display: null } },
    ],
    ["verbosity", { verbosity: "low" }],
  ])("refuses %s rather than cut it down", (_name, more) => {
    expect(completionsUpstream.format({ ...request, ...more }, target)).toMatchObject({
      status: 400,
      code: "feature_not_supported",
    });
  });
});
