import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { serviceError, type ServiceError } from "../../src/canon/error.ts";
import { ERROR_ANSWERS, LONGEST_WAIT, codedError } from "../../src/canon/error-codes.ts";
import { DESCRIBED_ERRORS } from "../../src/http/contract/document/error-rows.ts";
import { printerAt, sendError } from "../../src/http/send.ts";

/** Answers every request with one error, as the server would, and counts. */
const door: { error: ServiceError; calls: number } = {
  error: serviceError(400, "invalid_request", "c", "m"),
  calls: 0,
};
let server: Server;
let url: string;

beforeAll(async () => {
  server = createServer((incoming, response) => {
    door.calls += 1;
    sendError(response, printerAt(incoming.url ?? "/"), door.error, "req_1", []);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a listening TCP server has such an address
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.close();
});

/** The clients' own retries, without their waits. */
async function hurried(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const answer = await fetch(input, init);
  const headers = new Headers(answer.headers);
  headers.set("retry-after-ms", "1");
  return new Response(await answer.text(), { status: answer.status, headers });
}

const CLIENTS: Readonly<Record<string, () => Promise<unknown>>> = {
  openai: () =>
    new OpenAI({ apiKey: "k", baseURL: `${url}/v1`, fetch: hurried }).responses.create({
      model: "r",
      input: "hello",
    }),
  anthropic: () =>
    new Anthropic({
      apiKey: null,
      authToken: "k",
      baseURL: `${url}/api`,
      fetch: hurried,
    }).messages.create({
      model: "r",
      max_tokens: 10,
      messages: [{ role: "user", content: "hello" }],
    }),
};

/** How often the client requests one error, and what it throws at last. */
async function attempts(client: string, error: ServiceError): Promise<number> {
  door.error = error;
  door.calls = 0;
  await expect(CLIENTS[client]?.()).rejects.toMatchObject({ status: error.status });
  return door.calls;
}

describe.each(Object.keys(CLIENTS))("the official client of %s", (client) => {
  it.each([...ERROR_ANSWERS].map(([code, answer]) => ({ code, ...answer })))(
    "retries after $status $code: $retryable",
    async ({ code, status, kind, retryable, retryAfter }) => {
      const error: ServiceError = {
        code,
        status,
        kind,
        retryable,
        retryAfter,
        message: "m",
        param: null,
        denial: null,
      };
      expect(await attempts(client, error)).toBe(retryable ? 3 : 1);
    },
  );

  it.each([
    ...new Set(DESCRIBED_ERRORS.filter(({ status }) => status < 500).map(({ status }) => status)),
  ])("never retries after a %i that is not in the table", async (status) => {
    expect(
      await attempts(client, { ...serviceError(400, "invalid_request", "c", "m"), status }),
    ).toBe(1);
  });
});

describe("the table of answers", () => {
  it("has every code that the contract answers with a status that clients try again", () => {
    const tried = DESCRIBED_ERRORS.filter(
      ({ status }) =>
        status === 402 || status === 408 || status === 409 || status === 429 || status >= 500,
    );
    expect(tried.length).toBeGreaterThan(40);
    for (const { code, status, kind } of tried) {
      if (typeof code === "string")
        expect(ERROR_ANSWERS.get(code), code).toMatchObject({ status, kind });
    }
  });

  it("has no wait beyond the clients' maximum, and none for permanent errors", () => {
    for (const [code, { retryable, retryAfter }] of ERROR_ANSWERS) {
      expect(retryAfter ?? 0, code).toBeLessThanOrEqual(retryable ? LONGEST_WAIT : 0);
    }
  });

  it("answers 402 without retry-after where a budget is spent or a request never fits", () => {
    for (const code of ["budget_exhausted", "exceeds_remaining_budget", "exceeds_limit"] as const) {
      expect(codedError(code, "m")).toMatchObject({
        status: 402,
        kind: "quota",
        retryable: false,
        retryAfter: null,
      });
    }
  });

  it("forbids retries instead of sending a wait of more than a minute", () => {
    expect(codedError("upstream_rate_limited", "m", { retryAfter: 60_000 })).toMatchObject({
      retryAfter: 60_000,
    });
    expect(codedError("upstream_rate_limited", "m", { retryAfter: 60_001 })).toMatchObject({
      retryable: false,
      retryAfter: null,
    });
  });
});
