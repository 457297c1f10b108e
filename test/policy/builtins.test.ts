import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { Evaluator, serialise } from "../../src/policy/evaluator.ts";
import { toolchain } from "./samples.ts";

/**
 * For each built-in that policies have: an expression that calls it, and its value. `input.n` is 6,
 * so that nothing folds.
 */
const CALLS: Readonly<Record<string, readonly [string, unknown]>> = {
  eq: ["[x | x = input.n]", [6]],
  assign: ["[x | x := input.n]", [6]],
  equal: ["input.n == 6", true],
  neq: ["input.n != 7", true],
  lt: ["input.n < 7", true],
  lte: ["input.n <= 6", true],
  gt: ["input.n > 5", true],
  gte: ["input.n >= 6", true],
  "internal.member_2": ["input.n in [6]", true],
  "internal.member_3": ["{1 | 0, input.n in [6]} == {1}", true],
  print: ['[1 | print("erased")]', [1]],
  "internal.print": ["[1 | print(input.n)]", [1]],
  abs: ["abs(-input.n)", 6],
  ceil: ["ceil(input.n / 4)", 2],
  div: ["input.n / 2", 3],
  floor: ["floor(input.n / 4)", 1],
  minus: ["input.n - 1", 5],
  mul: ["input.n * 2", 12],
  plus: ["input.n + 1", 7],
  rem: ["input.n % 4", 2],
  round: ["round(input.n / 4)", 2],
  to_number: ['to_number("6")', 6],
  format_int: ["format_int(input.n, 2)", "110"],
  "bits.and": ["bits.and(input.n, 3)", 2],
  "bits.lsh": ["bits.lsh(input.n, 1)", 12],
  "bits.negate": ["bits.negate(input.n)", -7],
  "bits.or": ["bits.or(input.n, 1)", 7],
  "bits.rsh": ["bits.rsh(input.n, 1)", 3],
  "bits.xor": ["bits.xor(input.n, 3)", 5],
  count: ["count([input.n])", 1],
  max: ["max([input.n, 1])", 6],
  min: ["min([input.n, 1])", 1],
  product: ["product([input.n, 2])", 12],
  sort: ["sort([input.n, 1])", [1, 6]],
  sum: ["sum([input.n, 1])", 7],
  "array.concat": ["array.concat([input.n], [1])", [6, 1]],
  "array.flatten": ["array.flatten([[input.n], 1])", [6, 1]],
  "array.reverse": ["array.reverse([input.n, 1])", [1, 6]],
  "array.slice": ["array.slice([input.n, 1], 0, 1)", [6]],
  and: ["{input.n, 1} & {1}", [1]],
  intersection: ["intersection({{input.n, 1}, {1}})", [1]],
  or: ["count({input.n} | {1})", 2],
  union: ["count(union({{input.n}, {1}}))", 2],
  "json.filter": ['json.filter({"a": input.n, "b": 1}, ["a"])', { a: 6 }],
  "json.remove": ['json.remove({"a": input.n, "b": 1}, ["b"])', { a: 6 }],
  "object.filter": ['object.filter({"a": input.n, "b": 1}, ["a"])', { a: 6 }],
  "object.get": ['object.get(input, "missing", input.n)', 6],
  "object.keys": ["object.keys(input)", ["n"]],
  "object.remove": ['object.remove({"a": input.n, "b": 1}, ["b"])', { a: 6 }],
  "object.union": ['object.union({"a": input.n}, {"b": 1})', { a: 6, b: 1 }],
  "object.union_n": ['object.union_n([{"a": input.n}, {"b": 1}])', { a: 6, b: 1 }],
  "graph.reachable": ['graph.reachable({"a": ["b"], "b": []}, {"a"}) == {"a", "b"}', true],
  walk: ["[value | walk(input, [[_], value])]", [6]],
  is_array: ["is_array([input.n])", true],
  is_boolean: ["is_boolean(input.n == 6)", true],
  is_null: ["is_null(null)", true],
  is_number: ["is_number(input.n)", true],
  is_object: ["is_object(input)", true],
  is_set: ["is_set({input.n})", true],
  is_string: ['is_string("n")', true],
  type_name: ["type_name(input.n)", "number"],
  concat: ['concat("-", ["a", "b"])', "a-b"],
  contains: ['contains("abc", "b")', true],
  endswith: ['endswith("abc", "c")', true],
  indexof: ['indexof("abc", "c")', 2],
  lower: ['lower("ABC")', "abc"],
  replace: ['replace("abc", "b", "d")', "adc"],
  split: ['split("a-b", "-")', ["a", "b"]],
  startswith: ['startswith("abc", "a")', true],
  "strings.replace_n": ['strings.replace_n({"a": "b"}, "abc")', "bbc"],
  "strings.reverse": ['strings.reverse("abc")', "cba"],
  substring: ['substring("abc", 1, 1)', "b"],
  trim: ['trim("xax", "x")', "a"],
  trim_left: ['trim_left("xax", "x")', "ax"],
  trim_prefix: ['trim_prefix("xax", "x")', "ax"],
  trim_right: ['trim_right("xax", "x")', "xa"],
  trim_space: ['trim_space(" a ")', "a"],
  trim_suffix: ['trim_suffix("xax", "x")', "xa"],
  upper: ['upper("abc")', "ABC"],
  "glob.match": ['glob.match("eu-*", [], "eu-west")', true],
  "regex.find_all_string_submatch_n": [
    'regex.find_all_string_submatch_n("a(b)", "ab", -1)',
    [["ab", "b"]],
  ],
  "regex.is_valid": ['regex.is_valid("a+")', true],
  "regex.match": ['regex.match("^eu-", "eu-west")', true],
  "base64.decode": ['base64.decode("YQ==")', "a"],
  "base64.encode": ['base64.encode("a")', "YQ=="],
  "base64.is_valid": ['base64.is_valid("YQ==")', true],
  "base64url.decode": ['base64url.decode("YQ==")', "a"],
  "base64url.encode": ['base64url.encode("a")', "YQ=="],
  "json.is_valid": ['json.is_valid("[1]")', true],
  "json.marshal": ["json.marshal([input.n])", "[6]"],
  "json.unmarshal": ['json.unmarshal("[6]")', [6]],
  "net.cidr_contains": ['net.cidr_contains("10.0.0.0/8", "10.1.2.3")', true],
  "net.cidr_intersects": ['net.cidr_intersects("10.0.0.0/8", "10.1.0.0/16")', true],
};

const ENTRYPOINT = "signalbox/decide/all";

test("every built-in that policies have is computed inside the module, and rightly", async () => {
  const rows = Object.entries(CALLS).map(
    ([name, [expression]]) => `${JSON.stringify(name)}: [v | v := (${expression})]`,
  );
  const text = `package signalbox.decide\n\nall := {\n${rows.join(",\n")},\n}\n`;
  const { errors, wasm } = await toolchain.build({
    units: [],
    modules: [{ path: "decide", text }],
    entrypoints: [ENTRYPOINT],
  });
  expect(errors).toEqual([]);
  // Loading fails where a module calls a built-in of the host.
  const evaluator = await Evaluator.load(Buffer.from(wasm ?? "", "base64"), {}, [ENTRYPOINT]);
  const expected = Object.fromEntries(
    Object.entries(CALLS).map(([name, [, value]]) => [name, [value]]),
  );
  expect(evaluator.evaluate(serialise({ n: 6 }), ENTRYPOINT)).toEqual(expected);
});

test("the list above is the list that the toolchain allows", () => {
  const source = readFileSync(new URL("../../tools/rego/builtins.go", import.meta.url), "utf8");
  const list = /allowedBuiltins = setOf\(([^]*?)\n\)/.exec(source)?.[1] ?? "";
  const allowed: string[] = [...list.replaceAll(/\/\/.*/g, "").matchAll(/"([^"]+)"/g)].map(
    ([, name = ""]) => name,
  );
  expect(Object.keys(CALLS).toSorted()).toEqual(allowed.toSorted());
});
