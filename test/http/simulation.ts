import type { ServerResponse } from "node:http";
import { expect } from "vitest";
import type { JsonObject } from "../../src/canon/json.ts";
import {
  answerJson,
  delta,
  sse,
  startUpstream,
  type Router,
  type Upstream,
  type UpstreamCall,
} from "../support/router.ts";

export const PATH = "/v1/route/simulate?operation=chat.completions";

export function simulate(router: Router, body: unknown, path: string = PATH): Promise<Response> {
  return fetch(`${router.url}${path}`, {
    method: "POST",
    headers: { authorization: "Bearer good", "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

export async function explained(router: Router, body: unknown): Promise<JsonObject> {
  const response = await simulate(router, body);
  expect(response.status).toBe(200);
  const value: JsonObject = JSON.parse(await response.text());
  return value;
}

/**
 * Well in both ways of answering: a document where a stream was requested is a failure, and would
 * be tried again.
 */
export async function twoUpstreams(): Promise<readonly [Upstream, Upstream]> {
  const answer = (response: ServerResponse, { body }: UpstreamCall): void => {
    const requested: JsonObject = JSON.parse(body);
    if (requested.stream !== true) return answerJson(response);
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(sse(delta("hi", "stop")) + sse("[DONE]"));
  };
  return [await startUpstream(answer), await startUpstream(answer)];
}
