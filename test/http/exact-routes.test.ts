import { request } from "node:http";
import { H3 } from "h3";
import { afterEach, describe, expect, it, vi } from "vitest";
import { answerJson, hello, startRouter, startUpstream, tableOver } from "../support/router.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

interface Answer {
  readonly status: number | undefined;
  readonly body: string;
}

/** One request with this very target: `fetch` would normalise it. */
function call(url: string, method: string, target: string, body: string): Promise<Answer> {
  const { hostname, port } = new URL(url);
  const headers = { authorization: "Bearer good", "content-type": "application/json" };
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, method, path: target, headers }, (incoming) => {
      let text = "";
      incoming.on("data", (chunk: Buffer) => (text += chunk.toString()));
      incoming.on("end", () => resolve({ status: incoming.statusCode, body: text }));
    });
    sent.on("error", reject);
    sent.end(method === "POST" ? body : undefined);
  });
}

describe("a request for chat completions", () => {
  it.each([
    ["POST", "/v1/chat/completions", 200, 0],
    ["POST", "/v1/chat/completions?beta=true", 200, 1],
    ["POST", "http://signalbox.example/v1/chat/completions", 200, 1],
    ["POST", "/v1/chat/completions/", 404, 1],
    ["POST", "/v1//chat/completions", 404, 1],
    ["POST", "/v1/chat/../chat/completions", 404, 1],
    ["GET", "/v1/chat/completions", 404, 1],
    ["HEAD", "/v1/chat/completions", 404, 1],
    ["PUT", "/v1/chat/completions", 404, 1],
  ])("%s %s is answered with %i; h3 handles %i requests", async (method, target, status, seen) => {
    const framework = vi.spyOn(H3.prototype, "fetch");
    const upstream = await startUpstream((response) => answerJson(response));
    const router = await startRouter({ table: tableOver([upstream]) });
    const answer = await call(router.url, method, target, JSON.stringify(hello));
    expect(answer.status).toBe(status);
    expect(framework).toHaveBeenCalledTimes(seen);
    if (status === 404 && method !== "HEAD") expect(answer.body).toContain("unknown_path");
  });
});
