import { describe, expect, it } from "vitest";
import type {
  GenerateRequest,
  ImagePart,
  Tool,
  ToolChoice,
  Turn,
} from "../../../src/canon/generate/generate-request.ts";
import { dialect } from "../../../src/dialects/gemini/dialect.ts";
import { UNSIGNED_CALL } from "../../../src/dialects/gemini/signatures.ts";
import {
  answered,
  assistant,
  call,
  format,
  hello,
  result,
  signed,
  targetWith,
  text,
  user,
} from "./target.ts";

const { generate: geminiUpstream } = dialect;

const tool = (name: string, strict: boolean | null = null): Tool => ({
  name,
  description: null,
  parameters: null,
  strict,
  cache: null,
});
const refusal = (more: Partial<GenerateRequest>, target = targetWith()) =>
  geminiUpstream.format({ ...hello, ...more }, target);
const system = (authority: "system" | "developer", value: string): Turn => ({
  role: "system",
  authority,
  content: [text(value)],
});

describe("a request", () => {
  it("has only requested members", () => {
    expect(format({})).toEqual({
      path: "/models/gemini-x:generateContent",
      body: { contents: [{ role: "user", parts: [{ text: "hello" }] }] },
      headers: [],
      dropped: [],
    });
    expect(format({ stream: true }).path).toBe("/models/gemini-x:streamGenerateContent?alt=sse");
  });

  it("names models unchanged, and other resources by their names", () => {
    const pathOf = (upstreamModel: string): string =>
      format({}, targetWith({}, {}, { upstreamModel })).path;
    expect(pathOf("gemini-x+cut=after-2")).toBe("/models/gemini-x%2Bcut%3Dafter-2:generateContent");
    expect(pathOf("tunedModels/mine?")).toBe("/tunedModels/mine%3F:generateContent");
  });

  it("is counted whole by the Gemini API, and member by member by Vertex AI", () => {
    const counted = format({
      purpose: "count",
      turns: [system("system", "s"), user(text("x"))],
      tools: [tool("f")],
      toolChoice: { mode: "required" },
      stop: ["a"],
      maxOutputTokens: 5,
      hints: { ...hello.hints, serviceTier: "flex" },
    });
    const read = {
      contents: [{ role: "user", parts: [{ text: "x" }] }],
      systemInstruction: { parts: [{ text: "s" }] },
      tools: [{ functionDeclarations: [{ name: "f" }] }],
    };
    expect(counted.path).toBe("/models/gemini-x:countTokens");
    expect(counted.body).toEqual({ generateContentRequest: { model: "models/gemini-x", ...read } });
    const flat = format({ purpose: "count" }, targetWith({}, { flags: ["flat_count_tokens"] }));
    expect(flat.body).toEqual({ contents: [{ role: "user", parts: [{ text: "hello" }] }] });
  });

  it("joins leading system text", () => {
    const { body, dropped } = format({
      turns: [system("system", "a"), system("developer", "b"), user(text("x"))],
    });
    expect(body.systemInstruction).toEqual({ parts: [{ text: "a" }, { text: "b" }] });
    expect(dropped).toEqual(["system_joined", "developer_as_system"]);
  });

  it("separates turns of the user, joins those of the model, and drops empty ones", () => {
    const { body, dropped } = format({
      turns: [
        user(text("a")),
        user(text(""), text("b")),
        assistant(text("c")),
        assistant(text("d")),
        user(text("")),
      ],
    });
    expect(body.contents).toEqual([
      { role: "user", parts: [{ text: "a" }] },
      { role: "user", parts: [{ text: "b" }] },
      { role: "model", parts: [{ text: "c" }, { text: "d" }] },
    ]);
    expect(dropped).toEqual(["empty_text_dropped", "turns_merged", "prefill_as_turn"]);
    expect(format({ turns: [user(text(""))] }).body.contents).toEqual([
      { role: "user", parts: [{ text: "" }] },
    ]);
  });

  it("records that a prefilled answer is sent as a turn", () => {
    expect(format({ turns: [user(text("a")), assistant(text("b"))] }).dropped).toEqual([
      "prefill_as_turn",
    ]);
  });

  it("carries data by its media type", () => {
    const source = { kind: "base64", mediaType: "application/pdf", data: "JVBERg==" } as const;
    const { body, dropped } = format({
      turns: [
        user(
          { kind: "file", source, name: "a.pdf", cache: { ttl: null } },
          { kind: "audio", format: "mp3", data: "AA==" },
          {
            kind: "image",
            source: { ...source, mediaType: "image/png" },
            detail: "auto",
            cache: null,
          },
        ),
      ],
    });
    expect(body.contents[0].parts).toEqual([
      { inlineData: { mimeType: "application/pdf", data: "JVBERg==" } },
      { inlineData: { mimeType: "audio/mp3", data: "AA==" } },
      { inlineData: { mimeType: "image/png", data: "JVBERg==" } },
    ]);
    expect(dropped).toEqual(["cache_mark_dropped", "file_name_dropped", "image_detail_dropped"]);
  });

  it.each<[ImagePart["detail"][], string | undefined, string[]]>([
    [["low", "low"], "MEDIA_RESOLUTION_LOW", ["image_detail_for_all"]],
    [["high", null], "MEDIA_RESOLUTION_HIGH", ["image_detail_for_all"]],
    [["high", "low"], "MEDIA_RESOLUTION_HIGH", ["image_detail_for_all"]],
    [["low", null], undefined, ["image_detail_for_all"]],
    [[null], undefined, []],
  ])("requests one detail for all images: %j", (details, resolution, dropped) => {
    const source = { kind: "base64", mediaType: "image/png", data: "AA==" } as const;
    const images = details.map(
      (detail) => ({ kind: "image", source, detail, cache: null }) as const,
    );
    const made = format({ turns: [user(...images)] });
    expect([made.body.generationConfig?.mediaResolution, made.dropped]).toEqual([
      resolution,
      dropped,
    ]);
  });
});

describe("calls and results", () => {
  const turns = [
    user(text("x")),
    assistant(call("1", "f", '{"n":9007199254740993}'), call("2", "g")),
    answered(result("2")),
    answered({ ...result("1", "no"), isError: true }),
    user(text("y")),
  ];
  const unsigning = targetWith({ signatureFamily: null });

  it("are in one content each; results have the names of their calls", () => {
    const { body } = format({ turns }, unsigning);
    expect(body.contents.map(({ role }: { role: string }) => role)).toEqual([
      "user",
      "model",
      "user",
      "user",
    ]);
    expect(body.contents[2].parts).toEqual([
      { functionResponse: { id: "2", name: "g", response: { output: "ok" } } },
      { functionResponse: { id: "1", name: "f", response: { error: "no" } } },
    ]);
    expect(JSON.stringify(geminiUpstream.format({ ...hello, turns }, unsigning))).toContain(
      '"functionCall":{"id":"1","name":"f","args":{"n":9007199254740993}}',
    );
  });

  it("lose their ids where the provider takes none, with results in the order of the calls", () => {
    const { body } = format(
      { turns },
      targetWith({ signatureFamily: null }, { flags: ["no_call_ids"] }),
    );
    expect(body.contents[1].parts[1]).toEqual({ functionCall: { name: "g", args: {} } });
    expect(body.contents[2].parts).toEqual([
      { functionResponse: { name: "f", response: { error: "no" } } },
      { functionResponse: { name: "g", response: { output: "ok" } } },
    ]);
  });

  it("a result is named after the last call with its id", () => {
    const again = [...turns.slice(0, 4), assistant(call("1", "h")), answered(result("1"))];
    expect(
      format({ turns: again }, unsigning).body.contents.at(-1).parts[0].functionResponse.name,
    ).toBe("h");
  });

  it("that answer no call are refused", () => {
    expect(refusal({ turns: [user(text("x")), answered(result("7"))] })).toMatchObject({
      status: 400,
      code: "unknown_tool_call",
    });
  });

  it("keep several texts apart, and files beside them", () => {
    const image = {
      kind: "image",
      source: { kind: "base64", mediaType: "image/png", data: "AA==" },
      detail: null,
      cache: null,
    } as const;
    const content = [text("a"), image, text("b")];
    const { body, dropped } = format(
      { turns: [user(text("x")), assistant(call("1")), answered({ ...result("1"), content })] },
      unsigning,
    );
    expect(body.contents[2].parts[0].functionResponse).toEqual({
      id: "1",
      name: "f",
      response: { output: ["a", "b"] },
      parts: [{ inlineData: { mimeType: "image/png", data: "AA==" } }],
    });
    expect(dropped).toEqual(["result_files_apart"]);
    const nothing = { ...result("1"), content: [] };
    const empty = format(
      { turns: [user(text("x")), assistant(call("1")), answered(nothing)] },
      unsigning,
    );
    expect(empty.body.contents[2].parts[0].functionResponse.response).toEqual({});
  });
});

describe("signatures", () => {
  const partsOf = (...parts: Parameters<typeof assistant>) =>
    format({ turns: [user(text("x")), assistant(...parts), user(text("y"))] });

  it("are returned on their original part, from every position in a surface", () => {
    const kept = partsOf(signed(null, "hm"), text("a"), signed("call.AA"), call("1"), call("2"));
    const moved = partsOf(signed("call.AA", "hm"), text("a"), call("1"), call("2"));
    const expected = [
      { text: "hm", thought: true },
      { text: "a" },
      { functionCall: { id: "1", name: "f", args: {} }, thoughtSignature: "AA" },
      { functionCall: { id: "2", name: "f", args: {} } },
    ];
    expect(kept.body.contents[1].parts).toEqual(expected);
    expect(moved.body.contents[1].parts).toEqual(expected);
    expect([kept.dropped, moved.dropped]).toEqual([[], []]);
  });

  it("are sent on texts, empty texts and thoughts", () => {
    expect(
      partsOf(
        signed("thought.TH", "hm"),
        text("a"),
        signed("text.TX"),
        text("b"),
        signed("empty.EM"),
      ).body.contents[1].parts,
    ).toEqual([
      { text: "hm", thought: true, thoughtSignature: "TH" },
      { text: "a" },
      { text: "b", thoughtSignature: "TX" },
      { text: "", thoughtSignature: "EM" },
    ]);
    expect(partsOf(signed("thought.TH")).body.contents[1].parts).toEqual([
      { text: "", thought: true, thoughtSignature: "TH" },
    ]);
  });

  it("of a dropped part are sent on an empty text; those without a part on the next one", () => {
    expect(partsOf(signed("call.AA"), text("a")).body.contents[1].parts).toEqual([
      { text: "a" },
      { text: "", thoughtSignature: "AA" },
    ]);
    expect(partsOf(signed("AA"), text("a"), signed("BB")).body.contents[1].parts).toEqual([
      { text: "a", thoughtSignature: "AA" },
      { text: "", thoughtSignature: "BB" },
    ]);
    expect(partsOf(signed("call.a.b"), call("1")).body.contents[1].parts[0].thoughtSignature).toBe(
      "a.b",
    );
  });

  it("that are missing are marked as such, on the first of several calls, for models that sign", () => {
    const turns = [
      user(text("x")),
      assistant(call("1"), call("2")),
      answered(result("1"), result("2")),
    ];
    const { body, dropped } = format({ turns });
    expect(
      body.contents[1].parts.map((part: { thoughtSignature?: string }) => part.thoughtSignature),
    ).toEqual([UNSIGNED_CALL, undefined]);
    expect(Buffer.from(UNSIGNED_CALL, "base64").toString()).toBe(
      "skip_thought_signature_validator",
    );
    expect(dropped).toEqual(["signature_placeholder"]);
    expect(format({ turns }, targetWith({ signatureFamily: null })).dropped).toEqual([]);
  });
});

describe("tools", () => {
  it.each<[ToolChoice | null, boolean[], object | undefined, string[]]>([
    [null, [false], undefined, []],
    [{ mode: "auto" }, [false], { mode: "AUTO" }, []],
    [{ mode: "none" }, [true], { mode: "NONE" }, ["hint_dropped"]],
    [{ mode: "required" }, [true], { mode: "ANY" }, ["hint_dropped"]],
    [{ mode: "named", name: "t0" }, [false], { mode: "ANY", allowedFunctionNames: ["t0"] }, []],
    [
      { mode: "allowed", names: ["t0"], required: true },
      [false],
      { mode: "ANY", allowedFunctionNames: ["t0"] },
      [],
    ],
    [
      { mode: "allowed", names: ["t0"], required: false },
      [false],
      { mode: "VALIDATED", allowedFunctionNames: ["t0"] },
      [],
    ],
    [null, [true], { mode: "VALIDATED" }, []],
    [{ mode: "auto" }, [true, false], { mode: "VALIDATED" }, ["tool_strictness_widened"]],
    [{ mode: "auto" }, [], undefined, ["hint_dropped"]],
    [{ mode: "none" }, [], undefined, ["hint_dropped"]],
  ])(
    "with the choice %j and the strictness %j are configured as %j",
    (toolChoice, strict, config, dropped) => {
      const made = format({
        tools: strict.map((value, index) => tool(`t${index}`, value)),
        toolChoice,
      });
      expect([made.body.toolConfig?.functionCallingConfig, made.dropped]).toEqual([
        config,
        dropped,
      ]);
    },
  );

  it("have their schemas whole", () => {
    const parameters = {
      type: "object",
      properties: { n: { $ref: "#/$defs/n" } },
      $defs: { n: { type: "number" } },
    };
    const { body } = format({
      tools: [{ ...tool("f"), description: "d", parameters, cache: { ttl: "1h" } }],
    });
    expect(body.tools).toEqual([
      { functionDeclarations: [{ name: "f", description: "d", parametersJsonSchema: parameters }] },
    ]);
  });
});

describe("the settings of the answer", () => {
  it("are sent in generationConfig", () => {
    const { body, dropped } = format({
      maxOutputTokens: 9,
      temperature: 1.5,
      topP: 0.5,
      topK: 3,
      frequencyPenalty: 1,
      presencePenalty: -1,
      seed: 0,
      stop: ["a", "b", "c", "d", "e"],
      logprobs: 2,
      format: {
        kind: "json_schema",
        name: "n",
        description: null,
        schema: { type: "object" },
        strict: true,
      },
      hints: { serviceTier: "default", promptCacheKey: "k", promptCacheRetention: null },
    });
    expect(body.generationConfig).toEqual({
      maxOutputTokens: 9,
      temperature: 1.5,
      topP: 0.5,
      topK: 3,
      frequencyPenalty: 1,
      presencePenalty: -1,
      seed: 0,
      stopSequences: ["a", "b", "c", "d", "e"],
      responseLogprobs: true,
      logprobs: 2,
      responseMimeType: "application/json",
      responseJsonSchema: { type: "object" },
    });
    expect(body.serviceTier).toBe("standard");
    expect(dropped).toEqual([
      "token_bytes_unknown",
      "schema_name_dropped",
      "cache_hint_dropped",
      "service_tier_changed",
    ]);
    expect(format({ format: { kind: "json_object" } }).body.generationConfig).toEqual({
      responseMimeType: "application/json",
    });
    expect(format({ logprobs: 0 }).body.generationConfig).toEqual({ responseLogprobs: true });
    const zero = format({ maxOutputTokens: 0 });
    expect([zero.body.generationConfig, zero.dropped]).toEqual([
      { maxOutputTokens: 1 },
      ["output_limit_raised"],
    ]);
  });

  it.each([
    ["too_many_stop_sequences", { stop: ["a", "b", "c", "d", "e", "f"] }],
    ["invalid_seed", { seed: 2 ** 31 }],
    ["invalid_seed", { seed: -(2 ** 31) - 1 }],
  ])("are refused where the protocol has no such value: %s", (code, more) => {
    expect(refusal(more)).toMatchObject({ status: 400, code });
  });
});
