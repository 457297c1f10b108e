import { request } from "node:http";
import { beforeAll, describe, expect, it } from "vitest";
import { isJsonObject } from "../../src/canon/json.ts";
import type { Endpoint } from "../../src/http/contract/endpoint.ts";
import { ENDPOINTS } from "../../src/http/contract/endpoints.ts";
import { EXAMPLES } from "../../src/http/contract/openapi.ts";
import { deviations, type Answered } from "./contract.ts";
import { bearer, serve, type Served } from "./served.ts";

let served: Served;
let limited: Served;
let token: string;

const JSON_TYPE = { "content-type": "application/json" } as const;

beforeAll(async () => {
  served = await serve();
  limited = await serve((routes) =>
    routes.replace("requests_per_minute: 600", "requests_per_minute: 1"),
  );
  token = await exchanged();
});

function endpointOf(id: string): Endpoint {
  const found = ENDPOINTS.find((endpoint) => endpoint.id === id);
  if (found === undefined) throw new Error(`no endpoint ${id}`);
  return found;
}

function exampleOf(id: string): string {
  return JSON.stringify(Object.values(EXAMPLES[id]?.requests ?? {})[0] ?? {});
}

/** The example's request with other headers, at a server. */
function send(
  at: Served,
  id: string,
  headers: Readonly<Record<string, string>> = {},
  body?: string,
): Promise<Answered> {
  const endpoint = endpointOf(id);
  const sent = endpoint.body === null ? undefined : (body ?? exampleOf(id));
  return at.ask(endpoint, {
    method: endpoint.method,
    path: endpoint.path.replace("{id}", "tool-approval"),
    headers: { ...(sent !== undefined && JSON_TYPE), ...bearer(at, endpoint), ...headers },
    ...(sent !== undefined && { body: sent }),
  });
}

/** A request that fetch would not send. */
function sendRaw(
  id: string,
  headers: Readonly<Record<string, string>>,
  setHost = true,
): Promise<Answered> {
  const { method, path } = endpointOf(id);
  return new Promise((resolve, reject) => {
    const outgoing = request(
      `${served.server.url}${path}`,
      { method, headers, setHost },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () => {
          const entries = Object.entries(response.headers).map(
            ([name, value]): [string, string] => [name, String(value)],
          );
          resolve({
            status: response.statusCode ?? 0,
            headers: new Headers(entries),
            text: Buffer.concat(chunks).toString(),
          });
          outgoing.destroy();
        });
      },
    );
    outgoing.on("error", reject);
    // The body that the headers announce never comes.
    outgoing.flushHeaders();
  });
}

/** A token for one chat completion, bound to a page's origin. */
async function exchanged(): Promise<string> {
  const made = JSON.parse(
    (
      await send(
        served,
        "createKey",
        {},
        JSON.stringify({
          scopes: ["inference", "catalogue:read"],
          owner: "group:web",
          expires_in: 3_600,
          exchange: { maximum_lifetime: 900, origins: [PAGE] },
        }),
      )
    ).text,
  );
  const answered = await send(
    served,
    "exchangeKey",
    { authorization: `Bearer ${made.key}` },
    JSON.stringify({
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      scope: "inference catalogue:read",
      operations: "chat.completions",
      origin: PAGE,
      max_requests: 1,
    }),
  );
  return JSON.parse(answered.text).access_token;
}

const PAGE = "https://app.example.com";
const page = (origin: string): Readonly<Record<string, string>> => ({
  authorization: `Bearer ${token}`,
  origin,
});

/** By what is wrong: the endpoint, the status, the code, and how to get it. */
const REFUSALS: readonly (readonly [
  string,
  string,
  number,
  string | null,
  () => Promise<Answered>,
])[] = [
  ["a page's model list", "listModels", 200, null, () => send(served, "listModels", page(PAGE))],
  [
    "a page with a service key",
    "listModels",
    403,
    "service_key_in_browser",
    () => send(served, "listModels", { origin: PAGE, "sec-fetch-mode": "cors" }),
  ],
  [
    "a page with a service key, of messages",
    "createMessage",
    403,
    "service_key_in_browser",
    () => send(served, "createMessage", { origin: PAGE, "sec-fetch-mode": "cors" }),
  ],
  [
    "another origin",
    "listModels",
    403,
    "origin_not_allowed",
    () => send(served, "listModels", page("https://a.example")),
  ],
  [
    "what the token is not for",
    "createMessage",
    403,
    "insufficient_scope",
    () => send(served, "createMessage", page(PAGE)),
  ],
  [
    "the token's only request",
    "createChatCompletion",
    200,
    null,
    () => send(served, "createChatCompletion", page(PAGE)),
  ],
  [
    "one too many for the token",
    "createChatCompletion",
    402,
    "budget_exhausted",
    () => send(served, "createChatCompletion", page(PAGE)),
  ],
  [
    "the first of a minute",
    "createChatCompletion",
    200,
    null,
    () => send(limited, "createChatCompletion"),
  ],
  [
    "one too many",
    "createChatCompletion",
    429,
    "requests_per_minute",
    () => send(limited, "createChatCompletion"),
  ],
  [
    "one too many, of messages",
    "createMessage",
    429,
    "requests_per_minute",
    () => send(limited, "createMessage"),
  ],
  [
    "another media type",
    "createMessage",
    415,
    "unsupported_media_type",
    () => send(served, "createMessage", { "content-type": "text/plain" }),
  ],
  [
    "an encoded body",
    "createRerank",
    415,
    "unsupported_encoding",
    () => send(served, "createRerank", { "content-encoding": "gzip" }),
  ],
  [
    "a policy seen long ago",
    "promotePolicy",
    412,
    "precondition_failed",
    () => send(served, "promotePolicy", { "if-match": '"0123456789abcdef"' }),
  ],
  [
    "a policy not seen at all",
    "promotePolicy",
    428,
    "precondition_required",
    () => send(served, "promotePolicy"),
  ],
  [
    "a body too large",
    "createMessage",
    413,
    "request_too_large",
    () =>
      sendRaw("createMessage", {
        ...JSON_TYPE,
        ...bearer(served, endpointOf("createMessage")),
        "content-length": "99999999",
      }),
  ],
  [
    "an expectation",
    "getStatus",
    417,
    "unsupported_expectation",
    () => sendRaw("getStatus", { expect: "a miracle" }),
  ],
  [
    "an expectation of messages",
    "createMessage",
    417,
    "unsupported_expectation",
    () => sendRaw("createMessage", { expect: "x" }),
  ],
  ["no host", "getStatus", 400, "missing_host", () => sendRaw("getStatus", {}, false)],
];

function codeOf(text: string): unknown {
  const body: unknown = JSON.parse(text);
  if (!isJsonObject(body) || !isJsonObject(body.error)) return null;
  const { code, details } = body.error;
  return isJsonObject(details) ? details.error_code : code;
}

describe("refusals that generated requests do not reach match the contract", () => {
  it.each(REFUSALS)("%s: %s %i %s", async (_, id, status, code, requested) => {
    const answered = await requested();
    expect([answered.status, codeOf(answered.text)]).toEqual([status, code]);
    expect(deviations(endpointOf(id), answered)).toEqual([]);
  });
});
