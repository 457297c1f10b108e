import { expect, test } from "vitest";
import { ENDPOINTS } from "../../src/http/contract/endpoints.ts";
import { nearestPath } from "../../src/http/server.ts";
import { startRouter } from "../support/router.ts";
import { table } from "../support/table.ts";

const PUBLIC = ENDPOINTS.filter(({ listener }) => listener === "public");

/**
 * Paths that clients build from a base URL with too much or too little of a path, and slips of the
 * finger.
 */
test.each([
  ["POST", "/v1/messages", "POST /api/v1/messages"],
  ["POST", "/v1/messages?beta=true", "POST /api/v1/messages"],
  ["POST", "/messages", "POST /api/v1/messages"],
  ["POST", "/anthropic/v1/messages", "POST /api/v1/messages"],
  ["POST", "/api/messages", "POST /api/v1/messages"],
  ["POST", "/v1/v1/messages/count_tokens", "POST /api/v1/messages/count_tokens"],
  ["POST", "/chat/completions", "POST /v1/chat/completions"],
  ["POST", "/api/v1/chat/completions", "POST /v1/chat/completions"],
  ["POST", "/v1/v1/chat/completions", "POST /v1/chat/completions"],
  ["POST", "/openai/v1/chat/completions", "POST /v1/chat/completions"],
  ["POST", "/v1/chat/completions/", "POST /v1/chat/completions"],
  ["POST", "/v1/chat/completion", "POST /v1/chat/completions"],
  ["GET", "/v1/chat/completions", "POST /v1/chat/completions"],
  ["POST", "/responses", "POST /v1/responses"],
  ["POST", "/embeddings", "POST /v1/embeddings"],
  ["POST", "/api/v1/embeddings", "POST /v1/embeddings"],
  ["POST", "/v1/embedding", "POST /v1/embeddings"],
  ["POST", "/rerank", "POST /v1/rerank"],
  ["POST", "/moderations", "POST /v1/moderations"],
  ["GET", "/models", "GET /v1/models"],
  ["GET", "/api/models", "GET /api/v1/models"],
  ["GET", "/models/chat-small", "GET /v1/models/{id}"],
  ["GET", "/v1/openapi.json", "GET /openapi.json"],
])("%s %s suggests %s", (method, path, near) => {
  expect(nearestPath(method, path, PUBLIC)).toBe(near);
});

test.each([
  "/",
  "",
  "//",
  "/v1",
  "/v1/unknown",
  "/favicon.ico",
  `/${"a".repeat(100_000)}`,
  "/%00/\u0000",
  "/constructor",
])("a path without a similar one has no suggestion: %#", (path) => {
  expect(nearestPath("GET", path, PUBLIC)).toBeNull();
});

test("the base URL shows a person where to go, and stays an error for clients", async () => {
  const router = await startRouter({ table: table() });
  const page = await fetch(router.url, { headers: { accept: "text/html,*/*" } });
  expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html"]);
  expect(await page.text()).toContain("/openapi.json");
  const client = await fetch(router.url, { headers: { accept: "application/json" } });
  expect(client.status).toBe(404);
});
