import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import {
  answerJson,
  ANSWER,
  startRouter,
  startUpstream,
  tableOver,
  type Router,
  type Upstream,
} from "../support/router.ts";

/** Requests of one client, counted, without the waits between them. */
function counted(): { readonly fetch: typeof fetch; readonly statuses: number[] } {
  const statuses: number[] = [];
  const hurried = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const answer = await fetch(input, init);
    statuses.push(answer.status);
    const headers = new Headers(answer.headers);
    headers.set("retry-after-ms", "1");
    return new Response(await answer.text(), { status: answer.status, headers });
  };
  return { fetch: hurried, statuses };
}

const CLIENTS: Readonly<Record<string, (router: Router, ask: typeof fetch) => Promise<unknown>>> = {
  openai: (router, ask) =>
    new OpenAI({ apiKey: "good", baseURL: `${router.url}/v1`, fetch: ask }).chat.completions.create(
      {
        model: "r",
        messages: [{ role: "user", content: "hello" }],
      },
    ),
  anthropic: (router, ask) =>
    new Anthropic({
      apiKey: null,
      authToken: "good",
      baseURL: `${router.url}/api`,
      fetch: ask,
    }).messages.create({
      model: "r",
      max_tokens: 10,
      messages: [{ role: "user", content: "hello" }],
    }),
};

type Fault = (response: ServerResponse) => void;

const status =
  (code: number, headers: Readonly<Record<string, string>> = {}): Fault =>
  (response) => {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    answerJson(response, { error: { message: "no" } }, code);
  };

/** A provider that fails so often, and then answers. */
function failing(times: number, fault: Fault): Promise<Upstream> {
  let calls = 0;
  return startUpstream((response) => {
    calls += 1;
    if (calls <= times) fault(response);
    else answerJson(response, ANSWER);
  });
}

describe.each(Object.keys(CLIENTS))("the official client of %s", (name) => {
  const ask = async (
    upstream: Upstream,
  ): Promise<{ readonly statuses: number[]; readonly outcome: unknown }> => {
    const router = await startRouter({ table: tableOver([upstream]) });
    const { fetch: own, statuses } = counted();
    const outcome: unknown = await CLIENTS[name]?.(router, own).catch((error: unknown) => error);
    return { statuses, outcome };
  };

  // The route makes one call a request, so that every failure reaches the client.
  it.each<[string, Fault, number]>([
    ["503", status(503, { "retry-after": "0" }), 503],
    ["529", status(529, { "retry-after": "0" }), 503],
    ["429", status(429, { "retry-after": "0" }), 429],
    ["a reset", (response) => void response.destroy(), 502],
    ["an answer that is no JSON", (response) => void response.end("<html>"), 502],
  ])("survives a provider that answers two of its requests with %s", async (_, fault, expected) => {
    const { statuses, outcome } = await ask(await failing(2, fault));
    expect(statuses).toEqual([expected, expected, 200]);
    expect(outcome).not.toBeInstanceOf(Error);
  });

  it.each<[string, Fault, number]>([
    ["our credentials", status(401), 502],
    ["the path", status(404), 502],
    ["the request", status(400), 400],
    ["the size of the request", status(413), 413],
    ["more for an hour", status(429, { "retry-after": "3600" }), 429],
  ])("calls once where the provider refuses %s", async (_, fault, expected) => {
    const { statuses, outcome } = await ask(await failing(4, fault));
    expect(statuses).toEqual([expected]);
    expect(outcome).toMatchObject({ status: expected });
  });
});
