import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { PLAIN, type Behaviour } from "../../mock/behaviour.ts";
import { vectorOf } from "../../mock/unary/embed/vector.ts";
import { headerSettings, parseBehaviour } from "../../mock/settings.ts";
import { HELLO, mockForTest, parts, postTo, rawTo } from "./start.ts";
import {
  ask,
  at,
  EMBED_WAYS,
  MODERATION_WAY,
  RANK_WAYS,
  resultsIn,
  valuesIn,
  WAYS,
  type Way,
} from "./unary-ways.ts";

const understood: [string, Partial<Behaviour>][] = [
  ["dimensions=8; categories=other", { dimensions: 8, categories: "other" }],
  [
    "permute; short=2; wrong-dimension; nan",
    { permute: true, short: 2, wrongDimension: true, nan: true },
  ],
  ["duplicate-index", { duplicateIndex: true }],
  ["index-out-of-range", { indexOutOfRange: true }],
  ["no-index", { noIndex: true }],
  ["fail-over=96; poison", { failOver: 96, poison: 500 }],
  ["poison=429; retry-after=1", { poison: 429, retryAfter: 1 }],
];

test.each(understood)("understands %s", (text, expected) => {
  expect(parseBehaviour(headerSettings(text))).toEqual({ behaviour: { ...PLAIN, ...expected } });
});

const misunderstood: [string, string][] = [
  ["dimensions=0", "1 to 16384"],
  ["dimensions=16385", "1 to 16384"],
  ["categories", "categories=other"],
  ["categories=openai", "categories=other"],
  ["short", "short=N"],
  ["permute=1", "write permute"],
  ["poison=200", "400 to 599"],
  ["poison=600", "400 to 599"],
  ["poison; 500", "never be seen"],
  ["duplicate-index; no-index", "write one of them"],
  ["index-out-of-range; no-index", "write one of them"],
  ["duplicate-index; index-out-of-range", "write one of them"],
  ["retry-after=1; fail-over=1", "status=429"],
];

test.each(misunderstood)("refuses %s and says %s", (text, part) => {
  const parsed = parseBehaviour(headerSettings(text));
  expect("problem" in parsed ? parsed.problem : "understood").toContain(part);
});

/** Inputs whose ranking is their own order. */
const INPUTS = ["red signal", "red signal once", "a red signal once"];

function inputsOf(way: Way): readonly string[] {
  return way.isSingle === true ? INPUTS.slice(0, 1) : INPUTS;
}

/** What JSON.parse makes of an answer; `1e999` becomes Infinity. */
async function answerOf(
  way: Way,
  settings: string,
  inputs = inputsOf(way),
  length?: number,
): Promise<unknown> {
  const response = await ask(await mockForTest(), way, `m${settings}`, inputs, length);
  expect(response.status, way.name).toBe(200);
  return response.json();
}

/** What the provider says of a request that it refuses. */
async function refusalOf(
  way: Way,
  settings: string,
  inputs = inputsOf(way),
): Promise<[number, unknown]> {
  const response = await ask(await mockForTest(), way, `m${settings}`, inputs, undefined);
  return [response.status, at(await response.json(), way.message)];
}

const indexed = [...EMBED_WAYS, ...RANK_WAYS].filter((way) => way.hasIndex === true);
const named = (ways: readonly Way[]): (readonly [string, Way])[] =>
  ways.map((way) => [`${way.name} ${way.value}`, way]);

describe.each(named(indexed))("indices of %s", (_, way) => {
  const indicesOf = async (settings: string): Promise<unknown[]> => {
    const answer = await answerOf(way, settings);
    return resultsIn(way, answer).map((result) => at(result, "index") ?? "none");
  };

  test("say what is wrong with them", async () => {
    expect(await indicesOf("")).toEqual([0, 1, 2]);
    expect(await indicesOf("+permute")).toEqual([2, 1, 0]);
    expect(await indicesOf("+duplicate-index")).toEqual([0, 0, 2]);
    expect(await indicesOf("+index-out-of-range")).toEqual([0, 1, 3]);
    expect(await indicesOf("+no-index")).toEqual(["none", "none", "none"]);
    expect(await indicesOf("+short=2")).toEqual([0]);
    expect(await indicesOf("+short=1+permute")).toEqual([1, 0]);
    expect(await indicesOf("+permute+index-out-of-range")).toEqual([2, 1, 3]);
    expect(await indicesOf("+short=3")).toEqual([]);
  });

  test("go with their results when those are permuted", async () => {
    const right = valuesIn(way, await answerOf(way, ""));
    expect(valuesIn(way, await answerOf(way, "+permute"))).toEqual(right.toReversed());
  });

  test.each(["+permute", "+duplicate-index"])("%s wants two results", async (settings) => {
    expect(await refusalOf(way, settings, ["x"])).toEqual([
      400,
      expect.stringContaining("at least 2 results"),
    ]);
  });
});

describe.each(named(EMBED_WAYS))("vectors of %s", (_, way) => {
  const inputs = inputsOf(way);
  const right = inputs.map((text) => vectorOf(text, 4));

  test("one is shorter", async () => {
    const vectors = valuesIn(way, await answerOf(way, "+wrong-dimension", inputs, 4));
    expect(vectors).toEqual([...right.slice(0, -1), vectorOf(inputs.at(-1) ?? "", 3)]);
    expect(await refusalOf(way, "+dimensions=1+wrong-dimension")).toEqual([
      400,
      expect.stringContaining("at least 2"),
    ]);
  });

  test("one holds no finite number", async () => {
    const vectors = valuesIn(way, await answerOf(way, "+nan", inputs, 4));
    expect(vectors).toEqual([[Infinity, ...(right[0] ?? []).slice(1)], ...right.slice(1)]);
  });
});

test("no finite number in base64", async () => {
  const body = { model: "m+nan", input: ["x", "y"], dimensions: 2, encoding_format: "base64" };
  const answer: unknown = await (await postTo(await mockForTest(), "/v1/embeddings", body)).json();
  const [first, second] = (at(answer, "data") as readonly { readonly embedding: string }[]).map(
    ({ embedding }) => Buffer.from(embedding, "base64"),
  );
  expect([first?.readFloatLE(0), second?.readFloatLE(0)]).toEqual([
    NaN,
    Math.fround(vectorOf("y", 2)[0] ?? 0),
  ]);
});

test("1e999 is what is written", async () => {
  const response = await postTo(await mockForTest(), "/v1/embeddings", {
    model: "m+nan",
    input: "x",
    dimensions: 2,
  });
  expect(await response.text()).toContain('"embedding":[1e999,');
});

test.each(named(RANK_WAYS))("no finite score in a ranking: %s", async (_, way) => {
  expect(valuesIn(way, await answerOf(way, "+nan"))).toEqual([Infinity, 0.8, 0.666667]);
});

test("no finite score in a moderation, and one that is missing", async () => {
  const results = valuesIn(MODERATION_WAY, await answerOf(MODERATION_WAY, "+nan+short=1"));
  expect(results).toHaveLength(2);
  expect(Object.values(results[0] ?? {})).toContain(Infinity);
  expect(Object.values(results[1] ?? {})).not.toContain(Infinity);
  const other = valuesIn(
    MODERATION_WAY,
    await answerOf(MODERATION_WAY, "+nan+short=2+categories=other"),
  );
  expect(other.map((scores) => at(scores, "sexual"))).toEqual([Infinity]);
});

describe.each(WAYS)("%s", (name, way) => {
  const isList = way.isSingle !== true;

  test("fails requests with the poison, and no others", async () => {
    const server = await mockForTest();
    const sick = [...inputsOf(way).slice(1), "red signal simulated-poison"];
    expect((await ask(server, way, "m+poison", inputsOf(way))).status).toBe(200);
    expect((await ask(server, way, "m", sick)).status).toBe(200);
    const failed = await ask(server, way, "m+poison", sick);
    expect([failed.status, failed.headers.get("retry-after")]).toEqual([500, null]);
    expect(at(await failed.json(), way.message)).toContain("status 500");
    const limited = await ask(server, way, "m+poison=429+retry-after=3", sick);
    expect([limited.status, limited.headers.get("retry-after")]).toEqual([429, "3"]);
  });

  test.runIf(isList)("refuses more than it takes", async () => {
    expect((await ask(await mockForTest(), way, "m+fail-over=3", inputsOf(way))).status).toBe(200);
    expect(await refusalOf(way, "+fail-over=2")).toEqual([
      400,
      expect.stringMatching(/At most 2 .* 3/),
    ]);
  });

  test.runIf(isList)("does not omit more than there is", async () => {
    expect(await refusalOf(way, "+short=4")).toEqual([
      400,
      expect.stringContaining("at least 4 results"),
    ]);
  });

  test("is healthy again after a number of times", async () => {
    const server = await mockForTest();
    const kind = EMBED_WAYS.includes(way) ? "+dimensions=5" : "";
    const statuses: number[] = [];
    for (let count = 0; count < 3; count += 1)
      statuses.push((await ask(server, way, `m+503+times=2${kind}`, inputsOf(way))).status);
    expect(statuses).toEqual([503, 503, 200]);
    const healed: unknown = await (
      await ask(server, way, `m+503+times=2${kind}`, inputsOf(way))
    ).json();
    // The model is still the one with vectors of this length.
    if (kind !== "") expect(valuesIn(way, healed)[0]).toHaveLength(5);
  });

  test("says its own errors in its own shape", async () => {
    const response = await ask(await mockForTest(), way, "m+429+retry-after=7", inputsOf(way));
    expect([response.status, response.headers.get("retry-after")]).toEqual([429, "7"]);
    expect(at(await response.json(), way.message)).toBe("Simulated answer with status 429.");
  });

  test("requires a key where the test says so", async () => {
    const server = await mockForTest();
    const path = way.path("m+require-auth");
    const body = way.body("m+require-auth", inputsOf(way));
    expect([401, 403]).toContain((await postTo(server, path, body)).status);
    expect((await postTo(server, path, body, { authorization: "Bearer k" })).status).toBe(200);
  });

  test("breaks off as the test says", async () => {
    const server = await mockForTest();
    const sent = (setting: string, patience?: number) =>
      rawTo(
        server,
        way.path(`m+${setting}`),
        way.body(`m+${setting}`, inputsOf(way)),
        "",
        patience,
      );
    const whole = parts(await sent("delay=1ms")).body;
    const cut = await sent("cut");
    expect([cut.end, parts(cut).complete]).toEqual(["open", true]);
    expect(parts(cut).body.length).toBeLessThan(whole.length);
    expect((await sent("cut=before-headers")).bytes).toHaveLength(0);
    expect([(await sent("close")).end, (await sent("reset")).end]).toEqual(["closed", "reset"]);
    const stalled = await sent("stall");
    expect([stalled.end, parts(stalled).complete]).toEqual(["open", false]);
    const [late] = (await sent("delay=60ms")).arrivals;
    expect(late).toBeGreaterThanOrEqual(55);
    // The model's name, which some answers repeat, has other settings.
    const values = (body: Buffer): readonly unknown[] => valuesIn(way, JSON.parse(body.toString()));
    expect(values(whole)).toHaveLength(inputsOf(way).length);
    expect(values(parts(await sent("split=1000")).body)).toEqual(values(whole));
    const packed = parts(await sent("gzip"));
    expect(packed.head).toContain("content-encoding: gzip");
    expect(values(gunzipSync(packed.body))).toEqual(values(whole));
  });

  test("says 200 and means something else", async () => {
    const server = await mockForTest();
    const framed = await ask(server, way, "m+error-frame", inputsOf(way));
    expect(framed.status).toBe(200);
    expect(at(await framed.json(), way.message)).toContain("Simulated failure");
    const malformed = await ask(server, way, "m+malformed", inputsOf(way));
    expect(malformed.status).toBe(200);
    await expect(malformed.json()).rejects.toThrow(SyntaxError);
    const html = await ask(server, way, "m+content-type=text/html", inputsOf(way));
    expect(html.headers.get("content-type")).toBe("text/html");
  });

  test.each([
    "chunks=3",
    "size=1kB",
    "unicode",
    "reasoning",
    "redacted",
    "tool-calls=1",
    "refusal",
    "finish=length",
    "cached=1",
    "cache-write=1",
    "no-done",
    "no-finish",
    "crlf",
    "no-space",
    "keepalive",
  ])("has no form for %s", async (setting) => {
    const [form = ""] = setting.split("=", 1);
    expect(await refusalOf(way, `+${setting}`)).toEqual([
      400,
      expect.stringContaining(`no form for "${form}"`),
    ]);
  });

  test.each(["failed", "duplicate", "cut=after-2"])("never comes to %s", async (setting) => {
    expect(await refusalOf(way, `+${setting}`)).toEqual([
      400,
      expect.stringContaining("never comes"),
    ]);
  });

  test("refuses what is said of other results", async () => {
    const isEmbedding = EMBED_WAYS.includes(way);
    const foreign = [
      ...(isEmbedding ? [] : ["dimensions=8", "wrong-dimension"]),
      ...(way.hasIndex === true
        ? []
        : ["permute", "duplicate-index", "index-out-of-range", "no-index"]),
      ...(way === MODERATION_WAY ? [] : ["categories=other"]),
      ...(isList ? [] : ["fail-over=1"]),
      ...(way.name === "titan" ? ["short=1"] : []),
      ...(way === MODERATION_WAY || (RANK_WAYS.includes(way) && way.name.includes("bedrock"))
        ? ["no-usage"]
        : []),
    ];
    for (const setting of foreign) {
      const [form = ""] = setting.split("=", 1);
      const expected = [400, expect.stringContaining(`no form for "${form}"`)];
      expect(await refusalOf(way, `+${setting}`), `${name} ${setting}`).toEqual(expected);
    }
    expect(foreign.length).toBeGreaterThan(0);
  });

  test.skipIf(way === MODERATION_WAY || (RANK_WAYS.includes(way) && way.name.includes("bedrock")))(
    "omits usage",
    async () => {
      const server = await mockForTest();
      const counted =
        /total_tokens|input_tokens|usageMetadata|token_count|TokenCount|search_units|count \d/;
      const read = async (settings: string): Promise<string> => {
        const response = await ask(
          server,
          way,
          `m${settings}`,
          inputsOf(way),
          way.value === "relevance_score" ? undefined : 2,
        );
        const count = response.headers.get("x-amzn-bedrock-input-token-count");
        return `${await response.text()}${count === null ? "" : `count ${count}`}`;
      };
      expect(await read("")).toMatch(counted);
      expect(await read("+no-usage")).not.toMatch(counted);
    },
  );
});

test("settings about results have no form where text is the answer", async () => {
  const server = await mockForTest();
  const settings = [
    "dimensions=8",
    "categories=other",
    "permute",
    "short=1",
    "duplicate-index",
    "index-out-of-range",
  ];
  for (const setting of [
    ...settings,
    "no-index",
    "wrong-dimension",
    "nan",
    "fail-over=1",
    "poison",
  ]) {
    const [form = ""] = setting.split("=", 1);
    for (const path of [
      "/v1/chat/completions",
      "/v1/responses/input_tokens",
      "/v1/messages",
      "/v2/chat",
    ]) {
      const response = await postTo(server, path, { model: `m+${setting}`, messages: HELLO });
      expect([response.status, await response.text()], `${path} ${setting}`).toEqual([
        400,
        expect.stringContaining(`no form for \\"${form}\\"`),
      ]);
    }
  }
});

test("the header's settings do the same", async () => {
  const body = { model: "m", input: ["x", "y"], dimensions: 2 };
  const response = await postTo(await mockForTest(), "/v1/embeddings", body, {
    "x-mock": "permute; short=1",
  });
  expect([response.status, await response.json()]).toMatchObject([
    400,
    { error: { code: "mock_behaviour" } },
  ]);
  const permuted = await postTo(await mockForTest(), "/v1/embeddings", body, {
    "x-mock": "permute",
  });
  expect(await permuted.json()).toMatchObject({ data: [{ index: 1 }, { index: 0 }] });
});

test("of two simulated providers the second stands in for the first", async () => {
  const [openai, , cohere] = EMBED_WAYS;
  if (openai === undefined || cohere === undefined) throw new Error("no ways");
  const first = valuesIn(openai, await answerOf(openai, "", INPUTS, 16));
  expect(valuesIn(cohere, await answerOf(cohere, "", INPUTS, 16))).toEqual(first);
});
