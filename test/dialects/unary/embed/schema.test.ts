import { describe, expect, it } from "vitest";
import type { JsonObject, JsonValue } from "../../../../src/canon/json.ts";
import { embeddingsSurface } from "../../../../src/dialects/openai-chat/embeddings-surface.ts";
import { bodyValidator } from "../../../../src/http/validate-body.ts";

/** OpenAI's limit. */
const MAXIMUM_INPUTS = 2048;
const validate = bodyValidator(embeddingsSurface.contract.body);
const many = (item: JsonValue, count: number): readonly JsonValue[] =>
  Array.from({ length: count }, () => item);
const asking = (input: JsonValue): JsonObject => ({ model: "r", input });

describe("the input of embeddings", () => {
  it.each<[string, JsonValue]>([
    ["a text", "a"],
    ["texts", ["a", "b"]],
    ["tokens", [0, 4_294_967_295]],
    ["lists of tokens", [[1, 2], [3]]],
    ["as many texts as there may be", many("a", MAXIMUM_INPUTS)],
    ["as many tokens", many(1, MAXIMUM_INPUTS)],
    ["as many lists of tokens", many([1], MAXIMUM_INPUTS)],
  ])("may be %s", (_what, input) => expect(validate(asking(input))).toBeNull());

  it.each<[JsonValue, string]>([
    [["a", [1]], "input[1] must be string"],
    [["a", 1], "input[1] must be string"],
    [["a", "b", null], "input[2] must be string"],
    [[1, "a"], "input[1] must be integer"],
    [[1, [2]], "input[1] must be integer"],
    [[1.5], "input[0] must be integer"],
    [[-1], "input[0] must be >= 0"],
    [[1, 4_294_967_296], "input[1] must be <= 4294967295"],
    [[[1], "a"], "input[1] must be array"],
    [[[1], [2, 2.5]], "input[1][1] must be integer"],
    [[[1], []], "input[1] must NOT have fewer than 1 items"],
    [[["a"]], "input[0][0] must be integer"],
    [[null], "input[0] must be string or number or array"],
    [[{ text: "a" }], "input[0] must be string or number or array"],
    [[JSON.rawJSON("9007199254740993")], "input[0] must be string or number or array"],
    [[], "input must NOT have fewer than 1 items"],
    [many("a", MAXIMUM_INPUTS + 1), `input must NOT have more than ${MAXIMUM_INPUTS} items`],
    [many(1, MAXIMUM_INPUTS + 1), `input must NOT have more than ${MAXIMUM_INPUTS} items`],
    [5, "input must be string or array"],
    [{}, "input must be string or array"],
  ])("%#: is refused, and the wrong item is named", (input, message) => {
    const param = message.split(" ")[0];
    expect(validate(asking(input))).toMatchObject({ status: 400, message, param });
  });
});
