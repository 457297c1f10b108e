import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ENDPOINTS } from "../../src/http/contract/endpoints.ts";
import type { Endpoint } from "../../src/http/contract/endpoint.ts";
import {
  EXAMPLE_DECISION,
  EXAMPLE_DIGEST,
  EXAMPLE_ETAG,
  EXAMPLE_EXPIRY,
  EXAMPLE_KEY,
  EXAMPLES,
} from "../../src/http/contract/openapi.ts";
import { deviations, exampleDeviations, type Answered } from "./contract.ts";
import { AnswerRecorder } from "./answer-recorder.ts";
import { bearer, pathOf, serve, type Served } from "./served.ts";

// The requests that docs/api.md shows are these.
let served: Served;
/** What stands in examples for something that every store has of its own. */
const real = new Map<string, string>();

const recorder = new AnswerRecorder();

beforeAll(async () => {
  served = await serve();
});

afterAll(() => {
  if (process.env.UPDATE_DOCS === "1") recorder.write();
});

function endpointOf(id: string): Endpoint {
  const found = ENDPOINTS.find((endpoint) => endpoint.id === id);
  if (found === undefined) throw new Error(`no endpoint ${id}`);
  return found;
}

function withReal(text: string): string {
  let written = text;
  for (const [placeholder, value] of real)
    written = written.replaceAll(
      JSON.stringify(placeholder).slice(1, -1),
      JSON.stringify(value).slice(1, -1),
    );
  return written;
}

async function send(endpoint: Endpoint, body: unknown): Promise<Answered> {
  const { parameters = {}, ifMatch } = EXAMPLES[endpoint.id] ?? {};
  const values = Object.entries(parameters).map(([name, value]) => [
    name,
    real.get(value) ?? value,
  ]);
  const { authorization = "" } = bearer(served, endpoint);
  const asking = {
    method: endpoint.method,
    path: pathOf(endpoint, Object.fromEntries(values)),
    headers: {
      ...(authorization !== "" && {
        authorization: real.get(`bearer of ${endpoint.id}`) ?? authorization,
      }),
      ...(ifMatch !== undefined && { "if-match": real.get(ifMatch) ?? ifMatch }),
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: withReal(JSON.stringify(body)) }),
  };
  return served.ask(endpoint, asking);
}

/** Sends an example and holds the answer against the contract. */
async function sendExample(id: string, name: string | null): Promise<Answered> {
  const endpoint = endpointOf(id);
  const body = name === null ? undefined : EXAMPLES[id]?.requests?.[name];
  const answered = await send(endpoint, body);
  expect([answered.status, answered.status === 200 ? "" : answered.text]).toEqual([200, ""]);
  expect(deviations(endpoint, answered)).toEqual([]);
  recorder.note(id, answered);
  return answered;
}

const namesOf = (id: string): readonly (string | null)[] => {
  const names = Object.keys(EXAMPLES[id]?.requests ?? {});
  return names.length === 0 ? [null] : names;
};
const IN_ORDER = new Set(["Service keys", "Policies"]);

describe("every example of the contract, sent to a server", () => {
  const free = ENDPOINTS.filter(({ tag }) => !IN_ORDER.has(tag));
  it.each(free.flatMap(({ id }) => namesOf(id).map((name) => [id, name] as const)))(
    "%s %s is answered with 200",
    async (id, name) => {
      const { status, text } = await sendExample(id, name);
      expect(status).toBe(200);
      if (id === "listDecisions") real.set(EXAMPLE_DECISION, JSON.parse(text).data[0].id);
    },
  );

  it("the examples of keys are answered, from creation to deletion", async () => {
    await sendExample("createKey", "plain");
    const made = JSON.parse((await sendExample("createKey", "exchangeable")).text);
    real.set(EXAMPLE_KEY, made.id);
    real.set("bearer of exchangeKey", `Bearer ${made.key}`);
    for (const id of ["listKeys", "retrieveKey"]) await sendExample(id, null);
    for (const id of ["exchangeKey", "rotateKey"]) await sendExample(id, "plain");
    expect((await sendExample("revokeKey", null)).text).toContain("revoked");
    real.set(EXAMPLE_EXPIRY, new Date(Date.now() + 90 * 86_400_000).toISOString());
    expect((await sendExample("putNamedKey", "plain")).text).toContain("sbx_");
    expect((await sendExample("retrieveNamedKey", null)).text).not.toContain("sbx_");
    expect((await sendExample("deleteNamedKey", null)).text).toContain("revoked");
  });

  it("the examples of policies are answered, from approval to withdrawal", async () => {
    const look = async (): Promise<Answered> => {
      const answered = await sendExample("retrievePolicy", null);
      real.set(EXAMPLE_ETAG, answered.headers.get("etag") ?? "");
      return answered;
    };
    real.set(EXAMPLE_DIGEST, JSON.parse((await look()).text).candidate.digest);
    for (const id of ["listPolicies", "retrievePolicyContent", "retrievePolicyShadow"])
      await sendExample(id, null);
    await sendExample("approvePolicy", "plain");
    await sendExample("withdrawPolicy", "approval");
    for (const id of ["promotePolicy", "rollBackPolicy", "releasePolicy"]) {
      await look();
      await sendExample(id, "plain");
    }
    await look();
    await sendExample("withdrawPolicy", "candidate");
    expect((await sendExample("listPolicyTransitions", null)).text).toContain("rolled_back");
  });

  it("records nothing of this run: no date, no time, no id of a key", () => {
    const now = Date.now();
    const seconds = String(now).slice(0, 7);
    expect(recorder.text).not.toContain(new Date(now).toISOString().slice(0, 10));
    expect(recorder.text).not.toMatch(new RegExp(`\\b${seconds}`));
    for (const value of [...served.keys.values()].map((key) => key.split("_")[2] ?? key))
      expect(recorder.text).not.toContain(value);
    expect(recorder.text).toContain('"uptime_seconds": 3600');
  });

  it("omits no endpoint and no example", () => {
    expect(
      ENDPOINTS.filter(({ id, body }) => body !== null && EXAMPLES[id]?.requests === undefined),
    ).toEqual([]);
    const ids = new Set(ENDPOINTS.map(({ id }) => id));
    expect(Object.keys(EXAMPLES).filter((id) => !ids.has(id))).toEqual([]);
    for (const { id, stream } of ENDPOINTS) {
      if (stream !== undefined) expect(EXAMPLES[id]?.requests, id).toHaveProperty("streamed");
    }
  });
});

describe("the examples in the document", () => {
  it.each(ENDPOINTS.map((endpoint) => [endpoint.id, endpoint] as const))(
    "of %s match the contract",
    (_, endpoint) => {
      expect(exampleDeviations(endpoint)).toEqual([]);
    },
  );
});
