import { once } from "node:events";
import { createServer, request as send } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { readBody } from "../../src/http/read-body.ts";

const LIMITS = {
  bodyBytes: 40,
  answerBytes: 1_000,
  requestTime: 5_000,
  bodyTime: 3_000,
  writeTime: 1_000,
};
const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** Reads the body of one request after a wait. @param leaves the client goes before the reading. */
async function readLate(chunks: readonly string[], leaves = false): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const server = createServer((incoming, response) => {
    void (async () => {
      while (!incoming.complete) await new Promise((turn) => setImmediate(turn));
      if (leaves) {
        client.destroy();
        while (!incoming.destroyed) await new Promise((turn) => setImmediate(turn));
      }
      resolve(await readBody(incoming, LIMITS));
      response.end();
    })().catch(reject);
  }).listen(0, "127.0.0.1");
  closers.push(() => server.close().closeAllConnections());
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const client = send({
    port: address.port,
    method: "POST",
    headers: { "content-type": "application/json" },
  });
  client.on("error", () => {});
  for (const chunk of chunks) client.write(chunk);
  client.end();
  return promise;
}

describe("a body that is whole before it is read", () => {
  it.each<[string, readonly string[], object]>([
    ["in one piece", ['{"a":1}'], { value: { a: 1 }, bytes: 7 }],
    ["in pieces", ['{"a"', ":1", "}"], { value: { a: 1 }, bytes: 7 }],
    ["empty", [], { code: "invalid_json" }],
    ["cut off", ['{"a":'], { code: "invalid_json" }],
    [
      "larger than the limit, in chunks",
      [`{"a":"${"x".repeat(40)}"}`],
      { code: "request_too_large" },
    ],
  ])("%s, is read like any other", async (_, chunks, expected) => {
    expect(await readLate(chunks)).toMatchObject(expected);
  });

  it("is aborted at once where its client has left meanwhile", async () => {
    const startedAt = performance.now();
    expect(await readLate(['{"a":1}'], true)).toBe("aborted");
    expect(performance.now() - startedAt).toBeLessThan(LIMITS.bodyTime);
  });
});
