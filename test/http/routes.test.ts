import { request } from "node:http";
import { describe, expect, it } from "vitest";
import { answerJson, hello, startRouter, startUpstream, tableOver } from "../support/router.ts";

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

describe("a request target", () => {
  it.each([
    ["POST", "/v1/chat/completions", 200, ""],
    ["POST", "/v1/chat/completions?beta=true", 200, ""],
    ["POST", "http://signalbox.example/v1/chat/completions", 200, ""],
    ["POST", "/v1/chat/completions/", 404, "unknown_path"],
    ["POST", "/v1//chat/completions", 404, "unknown_path"],
    ["POST", "/v1/chat/../chat/completions", 404, "unknown_path"],
    ["POST", "/v1/chat/completi%6fns", 404, "unknown_path"],
    ["GET", "/v1/chat/completions", 404, "unknown_path"],
    ["HEAD", "/v1/chat/completions", 404, ""],
    ["PUT", "/v1/chat/completions", 404, "unknown_path"],
    ["GET", "/v1/models/r", 200, ""],
    ["GET", "http://signalbox.example/v1/models/r?x=1", 200, ""],
    ["GET", "/v1/models/%72", 200, ""],
    ["GET", "/v1/models/r%2Fs", 404, "model_not_found"],
    ["GET", "/v1/models/r/s", 404, "unknown_path"],
    ["GET", "/v1/models/..", 404, "unknown_path"],
    ["GET", "/v1/models/%2e%2E", 404, "unknown_path"],
    ["GET", "/v1/models/r\\s", 404, "unknown_path"],
    ["GET", "/v1/models/%zz", 400, "malformed_url"],
    ["GET", "/%ff", 400, "malformed_url"],
    ["GET", "http://[/v1/models/r", 400, "malformed_url"],
    ["OPTIONS", "*", 404, "unknown_path"],
  ])("%s %s is answered with %i %s", async (method, target, status, code) => {
    const upstream = await startUpstream((response) => answerJson(response));
    const router = await startRouter({ table: tableOver([upstream]) });
    const answer = await call(router.url, method, target, JSON.stringify(hello));
    expect(answer.status).toBe(status);
    expect(answer.body).toContain(code);
  });
});
