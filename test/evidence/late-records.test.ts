import { describe, expect, it } from "vitest";

import { GENESIS } from "../../src/evidence/chain.ts";
import { asIdentifier } from "../../src/evidence/record.ts";
import { readDecision, readOutcome } from "../../src/store/stored-evidence.ts";
import { DEFAULT_EVIDENCE_LIMITS, evidenceQueue } from "../../src/store/evidence-queue.ts";
import {
  answerJson,
  delta,
  errorOf,
  hello,
  sse,
  startRouter,
  startSse,
  startUpstream,
  tableOver,
  until,
  type Router,
} from "../support/router.ts";
import { endpoint, model, provider, route, table, workspace } from "../support/table.ts";
import type { RoutingTable } from "../../src/canon/table.ts";

const VECTOR = {
  object: "list",
  data: [{ object: "embedding", index: 0, embedding: [0.5, 0.25, 0.125] }],
  model: "vectors-1",
  usage: { prompt_tokens: 2, total_tokens: 2 },
};

function vectorTable(url: string): RoutingTable {
  return table({
    providers: [provider("p", { baseUrl: `${url}/v1` })],
    models: [
      model("m", {
        operations: ["embed"],
        dimensions: [3],
        contextWindow: 8_000,
        capabilities: [],
      }),
    ],
    endpoints: [endpoint("a", { provider: "p" })],
    routes: [route("r", "a", [], { operations: ["embed"] })],
    workspaces: [workspace("w", { providers: ["p"], dimensions: [3], contextWindow: 8_000 })],
  });
}

/** A router whose store holds every batch until the test lets it land or fail. */
async function start(kind: "chat" | "embeddings", answers: "at_once" | "never") {
  const upstream = await startUpstream((response, { body }) => {
    if (body.includes('"stream":true')) {
      startSse(response);
      response.write(sse(delta("one")));
      if (answers === "at_once") response.end(`${sse(delta("", "stop"))}data: [DONE]\n\n`);
    } else if (answers === "at_once") answerJson(response, kind === "chat" ? undefined : VECTOR);
  });
  const log = { decisions: [] as unknown[], outcomes: [] as unknown[] };
  let land: ((well: boolean) => void) | null = null;
  const queue = evidenceQueue(
    async (records) => {
      const well = await new Promise<boolean>((resolve) => (land = resolve));
      if (!well) throw new Error("failed");
      for (const one of records) {
        if (one.kind === "decision") log.decisions.push(readDecision(one.record));
        else log.outcomes.push(readOutcome(one.record));
      }
      return { duplicates: [], lost: 0, head: GENESIS };
    },
    { ...DEFAULT_EVIDENCE_LIMITS, maxWait: 5_000 },
    GENESIS,
  );
  const router = await startRouter({
    table: kind === "chat" ? tableOver([upstream]) : vectorTable(upstream.url),
    runtime: { evidence: queue, evidenceStatus: () => queue.health() },
  });
  const landing = async (well: boolean): Promise<void> => {
    await until(() => land !== null);
    land?.(well);
    land = null;
  };
  return { upstream, router, queue, log, landing };
}

function ask(
  router: Router,
  path: string,
  body: object,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${router.url}${path}`, {
    method: "POST",
    headers: { authorization: "Bearer good", "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}

const KINDS = [
  ["whole", "chat", "/v1/chat/completions", hello],
  ["streamed", "chat", "/v1/chat/completions", { ...hello, stream: true }],
  ["embedded", "embeddings", "/v1/embeddings", { model: "r", input: "hello" }],
] as const;

describe("a request that reached a provider before its decision could be recorded", () => {
  it.each(KINDS)(
    "%s: is recorded late, with the provider's answer",
    async (_, kind, path, body) => {
      const { upstream, router, queue, log, landing } = await start(kind, "at_once");
      const requested = ask(router, path, body);
      await until(() => upstream.calls.length === 1);
      // The provider's answer is here before the store's.
      await new Promise((resolve) => setTimeout(resolve, 50));
      await landing(false);
      const response = await requested;
      expect(response.status).toBe(503);
      expect((await errorOf(response)).code).toBe("evidence_unavailable");
      await landing(true);
      await until(() => log.outcomes.length === 1);
      const requestId = asIdentifier(response.headers.get("x-request-id") ?? "");
      expect(log).toMatchObject({
        decisions: [{ requestId, outcome: "route", plan: ["a"] }],
        outcomes: [
          {
            requestId,
            status: 503,
            terminal: "failed",
            attempts: [{ endpoint: "a", failure: null, status: 200 }],
            firstByte: null,
          },
        ],
      });
      if (kind === "embeddings") expect(log.outcomes).toMatchObject([{ inputTokens: 2 }]);
      else if (!("stream" in body))
        expect(log.outcomes).toMatchObject([{ inputTokens: 5, outputTokens: 6 }]);
      expect(queue.health()).toMatchObject({ state: "ok", waiting: 0, refused: 1, lost: 0 });
    },
  );

  it.each(KINDS)(
    "%s: is aborted where the provider has not answered",
    async (_, kind, path, body) => {
      const { upstream, router, log, landing } = await start(kind, "never");
      const requested = ask(router, path, body, { "x-request-timeout-ms": "600" });
      await until(() => upstream.calls.length === 1);
      expect((await requested).status).toBe(504);
      await until(() => upstream.calls[0]?.lostAt !== null);
      await landing(true);
      await landing(true);
      await until(() => log.outcomes.length === 1);
      const [attempt] = (log.outcomes as { attempts: { failure: string }[] }[])[0]?.attempts ?? [];
      expect(["abandoned", "timeout_total"]).toContain(attempt?.failure);
      expect(log).toMatchObject({
        decisions: [{ outcome: "route" }],
        outcomes: [{ status: 504, terminal: "failed", attempts: [{ endpoint: "a" }] }],
      });
    },
  );
});
