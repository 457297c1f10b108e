import type { FetchOptions, FetchResponse } from "ofetch";
import { Agent } from "undici";
import { parseJson, type JsonValue } from "../canon/json.ts";
import type { FetchJson, KeyFetchFailure } from "../canon/workload-identity.ts";
import type { FindProxy } from "./egress-proxy.ts";
import { ADDRESS_REFUSED, guardedConnector } from "./provider-client.ts";

/** Milliseconds from the call to the last byte of its answer. */
const LONGEST_WAIT = 5_000;

/** Bytes. A key set with a hundred certificates is smaller. */
const LONGEST_ANSWER = 256 * 1024;

type Reach = Parameters<FetchJson>[1];

/**
 * Fetches JSON documents. It follows no redirect, so only the address in routes.yaml is called; it
 * connects to addresses within reach only; each call has a connection of its own.
 *
 * @param findProxy forward proxies of the calls.
 */
export function jsonFetcher(findProxy: FindProxy | null = null): FetchJson {
  return async (url, reach) => {
    try {
      const options = { retry: 0, ignoreResponseError: true } as const;
      const { status, _data: text = "" } = await call(url, reach, findProxy, options);
      if (status !== 200) return { failure: "status" };
      const json = parsed(text);
      return json === undefined ? { failure: "not_json" } : { json };
    } catch (error) {
      // ofetch's messages quote the address.
      return { failure: failureOf(error) };
    }
  };
}

/** Posts JSON text by the rules of {@link jsonFetcher}. Never rejects; false: not delivered. */
export type PostJson = (
  url: string,
  reach: Reach,
  body: string,
  headers: Readonly<Record<string, string>>,
) => Promise<boolean>;

const RETRIES = 3;

/** Wait before the first retry, milliseconds; each further one is four times as long. */
const FIRST_DELAY = 500;

export function jsonPoster(findProxy: FindProxy | null = null): PostJson {
  return (url, reach, body, headers) =>
    call(url, reach, findProxy, {
      method: "POST",
      body,
      headers: { ...headers, "content-type": "application/json" },
      retry: RETRIES,
      retryDelay: ({ options: { retry } }) => FIRST_DELAY * 4 ** (RETRIES - Number(retry)),
      onRequestError: ({ error, options }) => {
        if (failureOf(error) === "address_refused") options.retry = 0;
      },
    }).then(
      ({ ok }) => ok,
      () => false,
    );
}

async function call(
  url: string,
  reach: Reach,
  findProxy: FindProxy | null,
  options: FetchOptions<"text">,
): Promise<FetchResponse<string>> {
  const connect = guardedConnector(LONGEST_WAIT, reach, undefined, false, findProxy);
  const agent = new Agent({ connect, pipelining: 0 });
  try {
    // Loaded with the first call: most servers make none.
    const { createFetch } = await import("ofetch");
    const client = createFetch({ fetch: fetchOver(agent, new URL(url)) });
    return await client.raw<string, "text">(url, { ...options, responseType: "text" });
  } finally {
    await agent.destroy();
  }
}

/**
 * undici's own `fetch` would add the headers of a browser, and refuse ports that servers may have.
 */
function fetchOver(agent: Agent, { origin, pathname, search }: URL): typeof fetch {
  return async (_, { method, headers, body: requestBody } = {}) => {
    const { statusCode, body } = await agent.request({
      origin,
      path: pathname + search,
      method: method === "POST" ? "POST" : "GET",
      headers: {
        accept: "application/json",
        "accept-encoding": "identity",
        "user-agent": "signalbox",
        ...Object.fromEntries(new Headers(headers)),
      },
      body: typeof requestBody === "string" ? requestBody : null,
      signal: AbortSignal.timeout(LONGEST_WAIT),
    });
    const chunks: Uint8Array[] = [];
    let length = 0;
    for await (const chunk of body) {
      if (!(chunk instanceof Uint8Array)) throw new TypeError("fetchJson: a body of no bytes");
      length += chunk.byteLength;
      if (length > LONGEST_ANSWER) throw new AnswerTooLargeError("fetchJson: too large");
      chunks.push(chunk);
    }
    // A response of 204 or 304 cannot have a body.
    return statusCode === 204 || statusCode === 304
      ? new Response(null, { status: statusCode })
      : new Response(Buffer.concat(chunks), { status: statusCode });
  };
}

class AnswerTooLargeError extends Error {
  readonly code = "TOO_LARGE";
}

function parsed(text: string): JsonValue | undefined {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

function failureOf(error: unknown): KeyFetchFailure {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    const code: unknown = Reflect.get(at, "code");
    if (code === ADDRESS_REFUSED) return "address_refused";
    if (code === "TOO_LARGE") return "too_large";
  }
  return "unreachable";
}
