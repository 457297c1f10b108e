import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";

import { ERROR_ANSWERS } from "../../../src/canon/error-codes.ts";
import type { Scope } from "../../../src/canon/identity.ts";
import { type DescribedError } from "../../../src/http/contract/document/error-rows.ts";
import { errorsOf } from "../../../src/http/contract/document/error-answers.ts";
import { isTokenEndpoint, type Endpoint } from "../../../src/http/contract/endpoint.ts";
import { ENDPOINTS } from "../../../src/http/contract/endpoints.ts";
import { oauthCode, oauthText, renderOAuthError } from "../../../src/http/send.ts";
import { createKey, DAY } from "../../../src/keys/key-record.ts";
import { deviations } from "../../contract/contract.ts";
import { startTestServer } from "../../support/server.ts";
import { rawCall } from "./raw-call.ts";
import { call, decisions } from "./support.ts";

const running = await startTestServer();
const { server } = running;
const EXCHANGE = "/v1/credentials/exchange";
const GRANT_TYPE = "urn:ietf:params:oauth:grant-type:token-exchange";
const JSON_TYPE = { "content-type": "application/json" } as const;
const FORM = { "content-type": "application/x-www-form-urlencoded" } as const;

const endpoint: Endpoint = (() => {
  const found = ENDPOINTS.find(({ path }) => path === EXCHANGE);
  if (found === undefined) throw new Error("no token endpoint");
  return found;
})();

const manager = await running.key("demo", ["operations:manage"]);
const made = await call(server, manager, "POST", "/v1/keys", {
  scopes: ["inference"],
  owner: "test",
  expires_in: 3_600,
  exchange: { maximum_lifetime: 600 },
});
const key: string = made.json.key;
const bound = await call(server, key, "POST", EXCHANGE, {
  grant_type: GRANT_TYPE,
  origin: "https://app.example.com",
});
const free = await call(server, key, "POST", EXCHANGE, { grant_type: GRANT_TYPE });

async function expired(): Promise<string> {
  const past = Date.now() - DAY;
  const options = { scopes: ["inference"], owner: "test", createdBy: "test" };
  const old = createKey(
    { workspace: "demo", ...options, expiresAt: past + 1_000 },
    () => past,
    randomBytes,
  );
  await server.store.keys.create(old.record);
  return old.text;
}

interface Sent {
  readonly bearer?: string;
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const body = (more: object): Sent => ({
  body: JSON.stringify({ grant_type: GRANT_TYPE, ...more }),
});
const keyOf = (scope: Scope): Promise<string> => running.key("demo", [scope]);

type Refusal = readonly [
  name: string,
  given: Sent | (() => Promise<Sent>),
  status: number,
  oauthCode: string,
  code: string,
  early?: "early",
];

/**
 * What is sent; the status, the code of OAuth and our own code of the answer. Early refusals have
 * no record.
 */
const REFUSALS: readonly Refusal[] = [
  ["no key", { bearer: "nothing" }, 401, "invalid_client", "invalid_api_key"],
  [
    "an expired key",
    async () => ({ bearer: await expired() }),
    401,
    "invalid_client",
    "expired_api_key",
  ],
  [
    "a key without the scope",
    async () => ({ bearer: await keyOf("catalogue:read") }),
    400,
    "unauthorized_client",
    "insufficient_scope",
  ],
  [
    "a key without the grant",
    async () => ({ bearer: await keyOf("inference") }),
    400,
    "unauthorized_client",
    "exchange_not_granted",
  ],
  [
    "a token instead of the key",
    { bearer: free.json.access_token },
    400,
    "unauthorized_client",
    "insufficient_scope",
  ],
  [
    "a token of another origin",
    { bearer: bound.json.access_token },
    400,
    "unauthorized_client",
    "origin_not_allowed",
  ],
  [
    "a web page",
    { headers: { ...JSON_TYPE, origin: "https://app.example.com", "sec-fetch-mode": "cors" } },
    400,
    "unauthorized_client",
    "service_key_in_browser",
  ],
  [
    "another grant type",
    body({ grant_type: "client_credentials" }),
    400,
    "unsupported_grant_type",
    "invalid_value",
  ],
  ["no grant type", { body: "{}" }, 400, "invalid_request", "missing_field"],
  [
    "a scope of the operator's",
    body({ scope: "operations:manage" }),
    400,
    "invalid_scope",
    "invalid_value",
  ],
  ["a scope of another type", body({ scope: 5 }), 400, "invalid_scope", "invalid_type"],
  ["a scope in a list of another type", body({ scope: [5] }), 400, "invalid_scope", "invalid_type"],
  [
    "an audience",
    body({ audience: "https://api.example.com" }),
    400,
    "invalid_target",
    "unknown_field",
  ],
  [
    "a resource",
    body({ resource: ["https://api.example.com"] }),
    400,
    "invalid_target",
    "unknown_field",
  ],
  ["an unknown member", body({ scopes: "inference" }), 400, "invalid_request", "unknown_field"],
  [
    "a route that no key may have",
    body({ routes: "a\u0000" }),
    400,
    "invalid_request",
    "invalid_value",
  ],
  ["a lifetime that is too long", body({ lifetime: 601 }), 400, "invalid_request", "invalid_value"],
  ["a body that is no JSON", { body: "{" }, 400, "invalid_request", "invalid_json"],
  ["a body that is too deep", { body: "[".repeat(5_000) }, 400, "invalid_request", "invalid_json"],
  [
    "a form that names a parameter twice",
    { headers: FORM, body: `grant_type=${GRANT_TYPE}&scope=inference&scope=inference` },
    400,
    "invalid_request",
    "invalid_form",
  ],
  [
    "a form with an audience",
    { headers: FORM, body: "grant_type=a&audience=b" },
    400,
    "invalid_target",
    "unknown_field",
  ],
  [
    "a body that is too large",
    { body: " ".repeat(1_100_000) },
    413,
    "invalid_request",
    "request_too_large",
  ],
  [
    "another media type",
    { headers: { "content-type": "text/plain" } },
    415,
    "invalid_request",
    "unsupported_media_type",
  ],
  [
    "an encoded body",
    { headers: { ...JSON_TYPE, "content-encoding": "gzip" } },
    415,
    "invalid_request",
    "unsupported_encoding",
  ],
  ["another method", { method: "GET", body: "" }, 404, "invalid_request", "unknown_path", "early"],
  [
    "a long URL",
    { path: `${EXCHANGE}?a=${"1".repeat(8_200)}` },
    414,
    "invalid_request",
    "url_too_long",
    "early",
  ],
  [
    "an unknown expectation",
    { headers: { ...JSON_TYPE, expect: "x" } },
    417,
    "invalid_request",
    "unsupported_expectation",
    "early",
  ],
  [
    "too many headers",
    { headers: Object.fromEntries(Array.from({ length: 210 }, (_, at) => [`x-${at}`, "1"])) },
    431,
    "invalid_request",
    "too_many_headers",
    "early",
  ],
  [
    "a path with a broken escape",
    { path: `${EXCHANGE}?a=%zz`, body: "{" },
    400,
    "invalid_request",
    "invalid_json",
  ],
];

/** Printable ASCII without `"` and `\` (RFC 6749 §5.2). */
const DESCRIPTION = /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/;

describe("a refusal of the token endpoint has the shape and the codes of RFC 6749", () => {
  it.each(REFUSALS.map((refusal) => [refusal[0], refusal] as const))(
    "%s",
    async (_name, refusal) => {
      const [, given, status, standardCode, code, early] = refusal;
      const sent = typeof given === "function" ? await given() : given;
      const { bearer = key, method = "POST", path = EXCHANGE, headers = JSON_TYPE } = sent;
      const text = sent.body ?? JSON.stringify({ grant_type: GRANT_TYPE });
      const answer = await rawCall(
        server,
        method,
        path,
        { authorization: `Bearer ${bearer}`, ...headers },
        text,
      );
      expect(answer.status, answer.text).toBe(status);
      const id = String(answer.headers["x-request-id"]);
      expect(id).toMatch(/^req_/);
      const json = JSON.parse(answer.text);
      expect(Object.keys(json)).toEqual(["error", "error_description"]);
      expect(json.error).toBe(standardCode);
      expect(json.error_description).toMatch(DESCRIPTION);
      expect(json.error_description).toContain(`(${code}, request id ${id})`);
      // Characters that RFC 6749 does not allow there are written as "?".
      expect(json.error_description.replace(/Did you mean [^?]*\?/, "")).not.toContain("?");
      expect(answer.headers).toMatchObject({
        "content-type": "application/json",
        "cache-control": "no-store",
        pragma: "no-cache",
        "x-should-retry": "false",
      });
      expect(answer.headers["www-authenticate"]).toBe(status === 401 ? "Bearer" : undefined);
      if (early === undefined) {
        const known = Object.entries(answer.headers).map(([name, value]): [string, string] => [
          name,
          String(value),
        ]);
        expect(
          deviations(endpoint, { status, headers: new Headers(known), text: answer.text }),
        ).toEqual([]);
        const [decision] = await decisions(server, 1);
        expect(decision).toMatchObject({ outcome: "refuse", reason: code, ended: "refused" });
        await server.store.evidence.flush();
        const entries = await server.store.evidence.read({ after: 0, limit: 1_000 });
        expect(
          entries.find(({ decision: { requestId } }) => requestId === id)?.outcome?.status,
        ).toBe(status);
      }
    },
  );
});

const ROWS = [...errorsOf(endpoint)].flatMap(([status, rows]) =>
  rows.map((row) => [status, row] as const),
);

/** The endpoint has codes that are listed only, no patterns. */
const codeOf = (code: DescribedError["code"]): string =>
  typeof code === "string" ? code : code.like;

/** Of errors that the requests above do not bring about. */
const OTHERS: Readonly<Record<string, string>> = {
  malformed_url: "invalid_request",
  missing_host: "invalid_request",
  invalid_body: "invalid_request",
  too_deeply_nested: "invalid_request",
  key_revoked: "invalid_client",
  body_timeout: "invalid_request",
  fair_share_exceeded: "temporarily_unavailable",
  internal_error: "server_error",
  evidence_unavailable: "temporarily_unavailable",
  server_overloaded: "temporarily_unavailable",
  server_stopping: "temporarily_unavailable",
  store_unavailable: "temporarily_unavailable",
  // Of workloads, whose requests are in workload-identity.test.ts.
  subject_token_invalid: "invalid_request",
  subject_token_expired: "invalid_request",
  workload_not_granted: "unauthorized_client",
  workload_ambiguous: "unauthorized_client",
  issuer_unavailable: "temporarily_unavailable",
};

describe("every error that the contract lists for the token endpoint", () => {
  it.each(ROWS.map(([status, row]) => [codeOf(row.code), status, row] as const))(
    "%s is answered as OAuth has it, with status %i",
    (code, status, row) => {
      const answer = ERROR_ANSWERS.get(code);
      const found = new Set(
        REFUSALS.filter((refusal) => refusal[4] === code).map((refusal) => refusal[3]),
      );
      const other = Object.hasOwn(OTHERS, code) ? OTHERS[code] : undefined;
      if (other !== undefined) found.add(other);
      expect(
        [...found],
        "a code of OAuth for the code: a request above, or a row of OTHERS",
      ).not.toEqual([]);
      const error = {
        status,
        kind: row.kind,
        code,
        message: row.when,
        param: null,
        denial: null,
        retryable: answer?.retryable ?? false,
        retryAfter: answer?.retryAfter ?? null,
      };
      if (other !== undefined) expect(oauthCode(error)).toBe(other);
      const json = JSON.parse(renderOAuthError(error, "req_1"));
      expect(json.error_description).toMatch(DESCRIPTION);
      expect(status).not.toBe(403);
      expect(json.error === "invalid_client").toBe(status === 401);
      expect(json.error === "temporarily_unavailable").toBe(status === 429 || status === 503);
    },
  );

  it("429 is temporarily_unavailable too", () => {
    const limit = {
      status: 429,
      kind: "rate_limit",
      code: "requests_per_minute",
      param: null,
    } as const;
    expect(oauthCode(limit)).toBe("temporarily_unavailable");
  });
});

it("a description has only characters that RFC 6749 allows", () => {
  expect(oauthText('a "b" \\ c\u2026 \u201Cd\u201D \u00E9 \u{1F600}\n')).toBe(
    "a 'b' / c... 'd' ? ??",
  );
  for (let code = 0; code < 0x300; code += 1)
    expect(oauthText(String.fromCharCode(code))).toMatch(DESCRIPTION);
});

it("only the path of the token endpoint has these errors, with a query and as a whole URL too", () => {
  for (const path of [
    EXCHANGE,
    `${EXCHANGE}?a=b`,
    `${EXCHANGE}#a`,
    `http://example.com:1${EXCHANGE}`,
  ])
    expect(isTokenEndpoint(path)).toBe(true);
  for (const path of [`${EXCHANGE}/`, `/api${EXCHANGE}`, `/v1/keys?x=${EXCHANGE}`, "/v1/keys", "/"])
    expect(isTokenEndpoint(path)).toBe(false);
});
