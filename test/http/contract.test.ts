import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/canon/json.ts";
import { ENDPOINTS } from "../../src/http/contract/endpoints.ts";
import { openApiDocument } from "../../src/http/contract/openapi.ts";

interface Described {
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required: boolean;
  }[];
  readonly responses: Readonly<Record<string, JsonObject>>;
}

const { paths, components } = openApiDocument() as unknown as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: {
    readonly responses: Readonly<Record<string, { readonly description: string }>>;
  };
};

/** What the answer that is referred to says of itself. */
function referred(answer: JsonObject | undefined): string {
  const reference = answer?.["$ref"];
  const name =
    typeof reference === "string" ? reference.replace("#/components/responses/", "") : "";
  return components.responses[name]?.description ?? "";
}

function described(path: string, method?: string): Described {
  const operations = paths[path] ?? {};
  const operation =
    method === undefined ? Object.values(operations)[0] : operations[method.toLowerCase()];
  if (operation === undefined) throw new Error(`${path} is not described`);
  return operation;
}

function headersOf(path: string): readonly string[] {
  return (described(path).parameters ?? [])
    .filter((parameter) => parameter.in === "header")
    .map(({ name }) => name);
}

const EVERYWHERE = ["x-client-request-id", "traceparent", "tracestate"];
const TOKENS = [...EVERYWHERE, "Origin"];
const INFERENCE = [
  ...TOKENS,
  "x-request-timeout-ms",
  "x-stainless-timeout",
  "x-stainless-retry-count",
  "x-max-attempts",
  "x-session-id",
];
const MESSAGES = [...INFERENCE, "anthropic-version", "anthropic-beta"];

describe("/openapi.json", () => {
  it.each<[string, readonly string[]]>([
    ["/v1/chat/completions", INFERENCE],
    ["/api/v1/messages/count_tokens", MESSAGES],
    ["/v1/embeddings", [...INFERENCE, "x-max-batch-size"]],
    ["/v1/rerank", INFERENCE],
    ["/v2/rerank", INFERENCE],
    ["/v1/moderations", INFERENCE],
    ["/v1/models", TOKENS],
    ["/v1/models/{id}", TOKENS],
    ["/v1/route/simulate", EVERYWHERE],
    ["/v1/policies/{id}", EVERYWHERE],
    ["/v1/policies/{id}/approvals", EVERYWHERE],
    ["/v1/policies/{id}/promotions", [...EVERYWHERE, "If-Match"]],
    ["/v1/policies/{id}/withdrawals", [...EVERYWHERE, "If-Match"]],
    ["/status", EVERYWHERE],
  ])("names the headers that %s reads", (path, headers) => {
    expect(headersOf(path)).toEqual(headers);
    for (const parameter of described(path).parameters ?? []) {
      if (parameter.in !== "header") continue;
      const required = parameter.name === "If-Match" && path.endsWith("promotions");
      expect(parameter).toMatchObject({ required, description: expect.stringMatching(/\w/) });
    }
  });

  it("names 412 and 428 where If-Match is read, 409 where things can be at odds", () => {
    // Without a candidate there is nothing to show of its time in shadow or to simulate, a key is
    // rotated once, and a named key is not changed.
    const alone = ["retrievePolicyShadow", "retrievePolicySimulation", "rotateKey", "putNamedKey"];
    for (const { path, method, ifMatch, conflicts, id } of ENDPOINTS) {
      const statuses = Object.keys(described(path, method).responses);
      for (const status of ["412", "428"])
        expect(statuses.includes(status), path).toBe(ifMatch !== undefined);
      expect(statuses.includes("409"), path).toBe(conflicts === true || alone.includes(id));
    }
    expect(ENDPOINTS.filter(({ ifMatch }) => ifMatch !== undefined).length).toBe(4);
  });

  it("names the scopes of which one is enough, and answers that have an entity tag", () => {
    const one = described("/v1/policies/{id}", "GET");
    expect(one).toMatchObject({
      security: [{ serviceKey: ["governance:read"] }, { serviceKey: ["operations:manage"] }],
    });
    expect(one.responses["200"]).toMatchObject({
      headers: { etag: { $ref: "#/components/headers/etag-always" } },
    });
    expect(described("/v1/keys", "POST")).toMatchObject({
      security: [{ serviceKey: ["operations:manage"] }, { serviceKey: ["platform:manage"] }],
    });
    expect(described("/status")).toMatchObject({ security: [] });
    expect(described("/v1/models").responses["200"]).not.toHaveProperty("headers.etag");
  });

  it("names 408 where a body is read", () => {
    for (const { path, method, body } of ENDPOINTS) {
      const { responses } = described(path, method);
      expect(Object.keys(responses).includes("408"), path).toBe(body !== null);
      if (body !== null) expect(referred(responses["408"])).toMatch(/in time/);
    }
  });
});
