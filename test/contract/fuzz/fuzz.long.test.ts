import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import type { Scope } from "../../../src/canon/identity.ts";
import { ENDPOINTS } from "../../../src/http/contract/endpoints.ts";
import { deviations, unroutedDeviations, type Answered } from "../contract.ts";
import { bearer, serve, type Served } from "../served.ts";
import { requestsOf, type Caller, type FuzzedRequest } from "./requests.ts";

/** `SIGNALBOX_FUZZ_RUNS` requests instead, however long they take. */
const MORE = Number(process.env.SIGNALBOX_FUZZ_RUNS ?? 0);
const RUNS = MORE > 0 ? { numRuns: MORE } : { numRuns: 1_500, interruptAfterTimeLimit: 12_000 };
const TIMEOUT = MORE > 0 ? MORE * 1_000 : 60_000;

let served: Served;
/** How often each status was answered. */
const seen = new Map<number, number>();

beforeAll(async () => {
  // What limits allow would be used up at once, and nothing behind them would be seen any more.
  served = await serve((routes) =>
    routes.replace(/\n {4}limits: \{ requests_per_minute: 600.*\}/, ""),
  );
});

function credentials(
  caller: Caller,
  { endpoint }: Pick<FuzzedRequest, "endpoint">,
): Readonly<Record<string, string>> {
  const others: Readonly<Record<Scope, Scope>> = {
    inference: "operations:manage",
    "catalogue:read": "inference",
    "route:simulate": "inference",
    "governance:read": "inference",
    "spend:read": "governance:read",
    "operations:manage": "catalogue:read",
    "policies:approve": "catalogue:read",
    "platform:manage": "catalogue:read",
  };
  switch (caller) {
    case "fitting":
      return bearer(served, endpoint);
    case "other":
      return bearer(served, { scopes: endpoint.scopes.map((scope) => others[scope]) });
    case "nobody":
      return {};
    case "garbage":
      return { authorization: "Bearer sbx_production_nobody" };
    case "two":
      return { ...bearer(served, endpoint), "x-api-key": "sbx_another" };
  }
}

/** Everything that is wrong with what came back; what breaks or hangs is wrong too. */
async function problemsOf({ endpoint, caller, asking }: FuzzedRequest): Promise<readonly string[]> {
  let answered: Answered;
  try {
    answered = await served.ask(endpoint, {
      ...asking,
      headers: { ...asking.headers, ...credentials(caller, { endpoint }) },
    });
  } catch (error) {
    return [`no answer: ${String(error)}`];
  }
  if (answered.status === 500) return [`500: ${answered.text}`];
  seen.set(answered.status, (seen.get(answered.status) ?? 0) + 1);
  return deviations(endpoint, answered);
}

describe("requests generated from the contract", () => {
  it("get an answer that the contract declares", { timeout: TIMEOUT }, async () => {
    const requests = fc.constantFrom(...ENDPOINTS).chain(requestsOf);
    await fc.assert(
      fc.asyncProperty(requests, async (request) => {
        expect(await problemsOf(request)).toEqual([]);
      }),
      RUNS,
    );
    // Requests that never get past the first look would prove nothing.
    for (const status of [200, 400])
      expect(seen.get(status) ?? 0, String(status)).toBeGreaterThan(0);
  });

  it(
    "with another method or at another path are refused in the shape of their family",
    { timeout: TIMEOUT },
    async () => {
      const rows = ENDPOINTS.filter(({ listener }) => listener === "public");
      const paths = rows.map(({ path }) => path.replaceAll(/\{\w+\}/g, "chat-small"));
      const isServed = (method: string, path: string): boolean =>
        rows.some(
          (row) =>
            row.method === method &&
            new RegExp(`^${row.path.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(path),
        );
      const requested = fc
        .record({
          method: fc.constantFrom("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"),
          path: fc.constantFrom(...paths),
          after: fc.constantFrom("", "/", "/x", "//", "/%2e%2e", ".json", "/%", "%ff"),
          body: fc.constantFrom(undefined, "{}", "x"),
        })
        .filter(({ method, path, after }) => !isServed(method, `${path}${after}`));
      await fc.assert(
        fc.asyncProperty(requested, async ({ method, path, after, body }) => {
          const sent = ["GET", "HEAD"].includes(method) ? undefined : body;
          const answered = await served.ask(
            { listener: "public" },
            { method, path: `${path}${after}`, ...(sent !== undefined && { body: sent }) },
          );
          expect(unroutedDeviations(`${path}${after}`, method, answered)).toEqual([]);
        }),
        {
          ...RUNS,
          numRuns: Math.min(RUNS.numRuns, 400),
          ...(MORE === 0 && { interruptAfterTimeLimit: 4_000 }),
        },
      );
    },
  );
});
