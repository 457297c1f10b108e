import { describe, expect, it } from "vitest";
import { isJsonObject, type JsonObject } from "../../../../src/canon/json.ts";
import { parseJsonBytes } from "../../../../src/dialects/json.ts";
import { moderationsSurface } from "../../../../src/dialects/openai-chat/moderations-surface.ts";
import { bodyValidator } from "../../../../src/http/validate-body.ts";
import { NO_EDITS, NO_HEADERS } from "../../../support/dialects.ts";
import { endpoint, provider } from "../../../support/table.ts";
import { bytesOf, mappedTarget, opened, parsed, plainTarget, sent, tried } from "./target.ts";

const validate = bodyValidator(moderationsSurface.contract.body);
const text = { type: "text", text: "hello" };
const image = { type: "image_url", image_url: { url: "https://example.org/a.png" } };
const data = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };

describe("the schema of moderations", () => {
  it.each<[string, JsonObject]>([
    ["a text", { input: "hello" }],
    ["texts", { input: ["a", "b"], model: "r" }],
    ["parts", { input: [text, image] }],
    ["null for a model", { input: "a", model: null, user: null }],
  ])("accepts %s", (_name, body) => {
    expect(validate(body)).toBeNull();
  });

  it.each<[string, JsonObject, string, string]>([
    ["no input", { model: "r" }, "missing_field", "input"],
    ["an empty list", { input: [] }, "invalid_value", "input"],
    ["a part among texts", { input: ["a", "b", text] }, "invalid_type", "input[2] must be string"],
    ["a text among parts", { input: [text, "a"] }, "invalid_type", "input[1] must be object"],
    ["a list of numbers", { input: [1] }, "invalid_type", "input[0] must be string or object"],
    ["null among texts", { input: ["a", null] }, "invalid_type", "input[1] must be string"],
    ["a number", { input: 1 }, "invalid_type", "input must be string or array"],
    [
      "a part of another type",
      { input: [{ type: "input_audio", input_audio: {} }] },
      "invalid_value",
      "input[0].type must be one of text, image_url",
    ],
    [
      "a part without a type",
      { input: [text, { text: "a" }] },
      "missing_field",
      "input[1].type is required",
    ],
    [
      "a part without its text",
      { input: [{ type: "text" }] },
      "missing_field",
      "input[0].text is required",
    ],
    [
      "a text that is none",
      { input: [{ type: "text", text: 1 }] },
      "invalid_type",
      "input[0].text must be string",
    ],
    [
      "an image without one",
      { input: [{ type: "image_url" }] },
      "missing_field",
      "input[0].image_url is required",
    ],
    [
      "an image as text",
      { input: [{ type: "image_url", image_url: "data:," }] },
      "invalid_type",
      "input[0].image_url must be object",
    ],
    [
      "an image without its address",
      { input: [{ type: "image_url", image_url: {} }] },
      "missing_field",
      "input[0].image_url.url is required",
    ],
    ["an empty model", { input: "a", model: "" }, "invalid_value", "model"],
  ])("refuses %s", (_name, body, code, message) => {
    const error = validate(body);
    expect(error?.status).toBe(400);
    expect(error?.code).toBe(code);
    expect(error?.message).toContain(message);
    expect(error?.param).toBe(message.split(" ")[0]);
  });

  it("refuses a number beyond a double where text is expected", () => {
    const body = parseJsonBytes(new TextEncoder().encode('{"input":9007199254740993}'));
    expect(validate(body ?? null)).toMatchObject({ code: "invalid_type", param: "input" });
  });
});

describe("the parser of a request", () => {
  it.each<[string, JsonObject, readonly string[], readonly string[]]>([
    ["a text", { input: "a" }, [], []],
    ["parts of text", { input: [text] }, [], []],
    ["an image by URL", { input: [text, image] }, ["image_input"], ["image_url"]],
    ["an image as data", { input: [data] }, ["image_input"], []],
    [
      "an image as data, written large",
      { input: [{ type: "image_url", image_url: { url: "DATA:image/png;base64,AA" } }] },
      ["image_input"],
      [],
    ],
  ])("finds the needs and features of %s", (_name, body, needs, features) => {
    expect(parsed(body).shape).toMatchObject({
      operation: "moderations",
      stream: false,
      needs,
      features,
    });
  });

  it("names the member of each requirement", () => {
    expect([...parsed({ input: [text, image] }).paths]).toEqual([
      ["image_input", "input[1]"],
      ["image_url", "input[1].image_url.url"],
    ]);
  });

  it("leaves the model to the workspace where none is given", () => {
    expect(parsed({ input: "a" }).model).toBe("");
    expect(parsed({ input: "a", model: null }).model).toBe("");
    expect(parsed({ input: "a", model: "r" }).model).toBe("r");
  });

  it.each(["file:///etc/passwd", "ftp://example.org/a.png", "a.png", ""])(
    "refuses the address %s",
    (url) => {
      const error = moderationsSurface.parse(
        { input: [{ type: "image_url", image_url: { url } }] },
        1,
        NO_HEADERS,
      );
      expect(error).toMatchObject({ status: 400, param: "input[0].image_url.url" });
      expect(error).toHaveProperty(
        "message",
        expect.stringContaining("data URL or begin with http:// or https://"),
      );
      if (url !== "") expect("message" in error ? error.message : "").not.toContain(url);
    },
  );

  it("reads preferences", () => {
    expect(parsed({ input: "a", provider: { only: ["p"] } }).preferences).toEqual({ only: ["p"] });
  });
});

describe("the upstream request", () => {
  it.each<[string, JsonObject, number]>([
    ["a text", { input: "a" }, 1],
    ["a list of one text", { input: ["a"] }, 1],
    ["texts", { input: ["a", "b", ""] }, 3],
    ["parts", { input: [text, image, data] }, 1],
  ])("has %s unchanged", (_name, body, count) => {
    const task = opened(body);
    expect(task.parts).toMatchObject([{ first: 0, count }]);
    expect(task.acceptsPartial).toBe(false);
    expect(sent(task)).toEqual({
      path: "/moderations",
      body: { model: "upstream-model", input: body.input },
    });
  });

  it("omits and records the user's identity", () => {
    const task = opened({ input: "a", user: "u-1", provider: { only: ["p"] }, model: "r" });
    expect(task.stripped).toEqual(["user"]);
    expect(sent(task).body).toEqual({ model: "upstream-model", input: "a" });
  });

  it("omits a policy's members", () => {
    const options = {
      unknownFields: "forward",
      edits: { ...NO_EDITS, stripFields: ["metadata"] },
      targets: [plainTarget],
      maxBatchSize: null,
    } as const;
    const task = moderationsSurface.open(parsed({ input: "a", metadata: { a: "b" } }), options);
    if ("code" in task) throw new Error(task.message);
    expect(task.stripped).toEqual(["metadata"]);
    expect(sent(task).body).toEqual({ model: "upstream-model", input: "a" });
  });

  it("goes to the address of a deployment, where the provider has that flag", () => {
    const target = {
      ...plainTarget,
      endpoint: endpoint("e", { upstreamModel: "dep/1" }),
      provider: provider("p", { flags: ["deployment_paths"], apiVersion: "2024-10-21" }),
    };
    expect(sent(opened({ input: "a" }, target), target).path).toBe(
      "/deployments/dep%2F1/moderations?api-version=2024-10-21",
    );
  });
});

describe("unknown members", () => {
  const body = { input: "a", novel: { deep: [1] } };
  const deep = { input: [{ ...text, novel: 1 }] };
  const deeper = { input: [{ type: "image_url", image_url: { url: "data:,", detail: "high" } }] };

  it.each<[JsonObject, string]>([
    [body, "novel"],
    [deep, "input[0].novel"],
    [deeper, "input[0].image_url.detail"],
    [{ input: [{ ...text, "two parts": 1 }] }, "input[0].*"],
  ])("are refused by name: %j", (requested, path) => {
    if (path !== "input[0].*")
      expect(moderationsSurface.refuseUnknown(requested, "reject")?.param).toBe(path);
    expect(tried(requested)).toMatchObject({ status: 400, code: "unknown_field", param: path });
  });

  it.each<JsonObject>([body, deep, deeper])("are stripped on record: %j", (requested) => {
    expect(moderationsSurface.refuseUnknown(requested, "strip")).toBeNull();
    const task = opened(requested, plainTarget, "strip");
    expect(task.stripped).toEqual(["unknown_field"]);
    expect(JSON.stringify(sent(task).body)).not.toMatch(/novel|detail/);
  });

  it("of the body are forwarded unchanged", () => {
    const bytes = bytesOf('{"input":"a","novel":{"count":9007199254740993},"__proto__":{"x":1}}');
    const requested = parseJsonBytes(bytes);
    if (!isJsonObject(requested)) throw new Error("no object");
    const call = opened(requested, plainTarget, "forward").parts[0]?.callTo(plainTarget);
    expect(call?.body).toBe(
      '{"novel":{"count":9007199254740993},"__proto__":{"x":1},"model":"upstream-model","input":"a"}',
    );
  });

  it.each<JsonObject>([deep, deeper])("of parts are forwarded unchanged: %j", (requested) => {
    expect(moderationsSurface.refuseUnknown(requested, "forward")).toBeNull();
    const task = opened(requested, plainTarget, "forward");
    expect(task).toMatchObject({ stripped: [], dropped: [] });
    expect(sent(task).body).toEqual({ model: "upstream-model", ...requested });
  });

  it("of parts are refused by an endpoint that is sent one text", () => {
    const task = opened({ input: [text, { ...text, novel: 1 }] }, mappedTarget, "forward");
    expect(task.refusals.get("e")).toMatchObject({
      status: 400,
      code: "unknown_field",
      param: "input[1]",
    });
  });

  it("count as absent where they are null", () => {
    const requested = { input: [{ ...text, novel: null }], other: null };
    expect(sent(opened(requested)).body).toEqual({ model: "upstream-model", input: [text] });
  });
});

describe("a model with its own categories", () => {
  it.each<[string, JsonObject, unknown, readonly string[]]>([
    ["a text", { input: "a" }, "a", []],
    ["texts", { input: ["a", "b"] }, ["a", "b"], []],
    ["one part", { input: [text] }, "hello", []],
    [
      "parts as one text, on record",
      { input: [text, { type: "text", text: "you" }] },
      "hello\nyou",
      ["text_parts_joined"],
    ],
  ])("gets %s", (_name, body, input, dropped) => {
    const task = opened(body, mappedTarget);
    expect(sent(task, mappedTarget).body).toEqual({ model: "upstream-model", input });
    expect(task.parts[0]?.callTo(mappedTarget).dropped).toEqual(dropped);
  });

  it("gets no image", () => {
    const task = opened({ input: [text, data] }, mappedTarget);
    expect(task.refusals.get("e")).toMatchObject({
      status: 400,
      code: "capability_not_supported",
      param: "input[1]",
    });
    expect(() => task.parts[0]?.callTo(mappedTarget)).toThrow("cannot express the request");
  });
});
