import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "vitest";
import { isJsonObject } from "../../src/canon/json.ts";
import { readRecordings, type Recording } from "../support/recordings.ts";
import { mockForTest, postTo } from "./start.ts";

/** Requests without a text: the simulated provider embeds no pictures. */
const KNOWN = /images|inlineData|texts: /;

/** What recordings say of a request besides its body. */
function pathOf(recording: Recording): string {
  const request: unknown = recording.request;
  return isJsonObject(request) && typeof request.path === "string" ? request.path : "";
}

/** Names of the recordings, the hosts whose protocol it is, and the paths that are served. */
const protocols: [string, RegExp, RegExp][] = [
  ["embeddings", /openai|voyageai|mistral|openrouter|azure/, /\/embeddings(?:\?|$)/],
  ["cohere-embed", /cohere/, /\/v2\/embed$/],
  ["gemini-embed", /googleapis/, /:(?:batchEmbedContents|predict)$/],
  [
    "bedrock-invoke",
    /bedrock/,
    /\/model\/[^/]*(?:titan-embed|nova-2-multimodal-embeddings|cohere\.embed)[^/]*\/invoke$/,
  ],
  ["rerank", /cohere|voyageai|openrouter/, /\/rerank$/],
  ["moderations", /openai/, /\/moderations$/],
];

/**
 * The names of all members, without those of provider's extras and of usage; lists stand for their
 * first item, vectors for nothing.
 */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? [] : [shapeOf(value[0])];
  if (!isJsonObject(value)) return typeof value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, member]) => [name, shapeOf(member)]),
  );
}

/**
 * Hosts whose answers are the originals that the simulated provider imitates; others add members of
 * their own.
 */
const ORIGINAL = /api\.openai\.com|api\.voyageai\.com|api\.cohere\.com|googleapis|bedrock/;

describe.each(protocols)("%s", (name, hosts, paths) => {
  const recordings = readRecordings(name);

  test.skipIf(recordings === null)(
    "takes what the provider took, and answers in its shape (needs ../shared/recordings)",
    async () => {
      const server = await mockForTest();
      const strange: string[] = [];
      const shapes: [unknown, unknown][] = [];
      let taken = 0;
      for (const recording of recordings ?? []) {
        const { id, request, response, host } = recording;
        const path = pathOf(recording);
        if (!hosts.test(host) || !paths.test(path) || request === null || response.status !== 200)
          continue;
        const answer = await postTo(server, path.replaceAll(/[<>]/g, ""), request.body);
        const text = await answer.text();
        if (answer.status === 200) {
          taken += 1;
          if (ORIGINAL.test(host)) shapes.push([shapeOf(JSON.parse(text)), shapeOf(response.body)]);
        } else if (!KNOWN.test(text)) strange.push(`${id}: ${text}`);
      }
      expect(strange).toEqual([]);
      expect(taken).toBeGreaterThan(0);
      expect(shapes.length).toBeGreaterThan(0);
      // Members that older models do not have yet stand in the answers of newer ones; one of those
      // has all of them.
      for (const [simulated, real] of shapes) expect(simulated).toMatchObject(Object(real));
      expect(shapes.some(([simulated, real]) => isDeepStrictEqual(simulated, real))).toBe(true);
    },
    60_000,
  );
});
