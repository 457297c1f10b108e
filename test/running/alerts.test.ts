import { createHmac, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, vi } from "vitest";
import type { AlertSettings } from "../../src/canon/table.ts";
import { jsonPoster, type PostJson } from "../../src/dispatch/fetch-json.ts";
import { Cell, Addition } from "../../src/governance/cell.ts";
import type { RollUpQuery, RollUpRow } from "../../src/governance/increments.ts";
import { HOUR } from "../../src/governance/roll-up.ts";
import { startAlerts, type AlertSources } from "../../src/server/alerts.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { whenFileEnds } from "../support/file-end.ts";
import { table } from "../support/table.ts";

const NOW = 1_795_000_000_000;
const HOURS = Math.floor(NOW / HOUR);

const EVERYTHING: AlertSettings = {
  url: "https://hooks.example/signalbox",
  secret: { env: "ALERTS_SECRET" },
  events: [
    "budget_nearly_spent",
    "budget_spent",
    "denials_rising",
    "refusals_rising",
    "candidate_would_deny",
    "keys_expiring",
    "certificate_expiring",
    "evidence_unavailable",
  ],
};

/** Nothing is wrong, but for what `changes` says. */
function sources(changes: Partial<AlertSources> = {}): AlertSources {
  return {
    table: () => ({ ...table(), alerts: EVERYTHING }),
    budgets: { usesOfWorkspaces: () => [] },
    keysExpiring: () => new Map(),
    certificateExpiry: () => null,
    evidence: () => ({ state: "ok" }),
    summary: summaryOf({}),
    limits: { lease: () => Promise.resolve({ counters: [], slots: [{ held: 1, others: 0 }] }) },
    ...changes,
  };
}

/** Counts of one workspace: those of each hour before now. */
function summaryOf(denied: Readonly<Record<number, number>>): AlertSources["summary"] {
  return {
    workspaces: () => Promise.resolve(["acme"]),
    async *read({ facet, from, until }: RollUpQuery): AsyncIterable<readonly RollUpRow[]> {
      for (const [ago, count] of Object.entries(denied)) {
        const hour = HOURS - Number(ago);
        if (facet !== "total" || hour < from || hour >= until) continue;
        const addition = new Addition();
        addition.count("denied", count);
        const cell = new Cell();
        cell.add(addition);
        yield [{ workspace: "acme", facet, hour, labels: "[]", cell: cell.encode() }];
      }
      await Promise.resolve();
    },
  };
}

/** Runs checks until `done`, and gives the messages that were posted. */
async function messagesOf(
  of: AlertSources,
  post: (body: { event: string; status: string; subject: string }) => boolean = () => true,
  checks = 3,
) {
  const messages: { event: string; status: string; subject: string; summary: string }[] = [];
  const failed = vi.fn<(event: string) => void>();
  const evidence = vi.fn<AlertSources["evidence"]>(of.evidence);
  const stop = startAlerts(
    { ...of, evidence },
    {
      post: (_url, _reach, body) => {
        const message = JSON.parse(body);
        messages.push(message);
        return Promise.resolve(post(message));
      },
      secretOf: () => "key",
      failed,
      now: () => NOW,
      interval: 2,
    },
  );
  await vi.waitFor(() => expect(evidence.mock.calls.length).toBeGreaterThanOrEqual(checks));
  await stop();
  return { messages, failed };
}

describe("the webhook of alerts", () => {
  it("reports each condition once while it holds", async () => {
    const use = {
      id: "acme",
      measure: "micro_usd",
      window: "day",
      limit: 100,
      startsAt: NOW,
      resetsAt: NOW + 1,
    } as const;
    const { messages } = await messagesOf(
      sources({
        budgets: {
          usesOfWorkspaces: () => [
            { ...use, used: 85 },
            { ...use, id: "shop", used: 120 },
          ],
        },
        keysExpiring: () => new Map([["acme", 2]]),
        certificateExpiry: () => NOW + 3_600_000,
        evidence: () => ({ state: "unavailable" }),
      }),
    );
    expect(messages.map(({ event, subject }) => `${event} ${subject}`)).toEqual([
      "budget_nearly_spent acme",
      "budget_spent shop",
      "keys_expiring acme",
      "certificate_expiring ",
      "evidence_unavailable ",
    ]);
    expect(messages[0]?.summary).toBe(
      "Workspace acme has used 85 % of its budget of dollars a day.",
    );
  });

  it("reports the end of a condition", async () => {
    let expiry: number | null = NOW;
    const { messages } = await messagesOf(
      sources({ certificateExpiry: () => expiry }),
      () => {
        expiry = null;
        return true;
      },
      4,
    );
    expect(messages.map(({ status }) => status)).toEqual(["firing", "resolved"]);
  });

  it("sends a message again that was not delivered, and reports the failure", async () => {
    let attempts = 0;
    const { messages, failed } = await messagesOf(
      sources({ certificateExpiry: () => NOW }),
      () => (attempts += 1) > 1,
      5,
    );
    expect(messages.map(({ status }) => status)).toEqual(["firing", "firing"]);
    expect(failed.mock.calls).toEqual([["certificate_expiring"]]);
  });

  it("sends only the events of the file", async () => {
    const events = ["keys_expiring"] as const;
    const { messages } = await messagesOf(
      sources({
        table: () => ({ ...table(), alerts: { ...EVERYTHING, events } }),
        certificateExpiry: () => NOW,
        keysExpiring: () => new Map([["acme", 1]]),
      }),
    );
    expect(messages.map(({ event }) => event)).toEqual(["keys_expiring"]);
  });

  it("is sent by one of two replicas that share a store", async () => {
    const { limits } = await openSqliteStore({ path: ":memory:" });
    const one = await Promise.all(
      [1, 2].map(() => messagesOf(sources({ limits, certificateExpiry: () => NOW }), undefined, 1)),
    );
    const lease = { holder: randomUUID(), now: NOW, until: NOW + 1e6, counters: [] };
    await limits.lease({
      ...lease,
      slots: [{ subject: "alerts", ceiling: 1, inUse: 0, want: 1 }],
    });
    const events: string[] = [];
    const stop = startAlerts(sources({ limits, certificateExpiry: () => NOW }), {
      post: (_url, _reach, body) => {
        events.push(body);
        return Promise.resolve(true);
      },
      secretOf: () => "key",
      failed: () => {},
      now: () => NOW,
      interval: 2,
    });
    await new Promise((resolve) => setTimeout(resolve, 40));
    await stop();
    expect(events).toEqual([]);
    expect(one.flatMap(({ messages }) => messages).length).toBeLessThanOrEqual(2);
  });

  it.each([
    ["three times as many as usual", { 1: 90, 5: 24, 9: 24 }, ["denials_rising"]],
    ["as many as usual", Object.fromEntries(Array.from({ length: 26 }, (_, i) => [i, 90])), []],
    ["few in an hour", { 1: 19 }, []],
  ])("reports denials that rise: %s", async (_, denied, events) => {
    const { messages } = await messagesOf(sources({ summary: summaryOf(denied) }));
    expect(messages.map(({ event }) => event)).toEqual(events);
  });

  it("sends nothing that it cannot sign", async () => {
    const post = vi.fn<PostJson>();
    const failed = vi.fn<(event: string) => void>();
    const stop = startAlerts(sources({ certificateExpiry: () => NOW }), {
      post,
      secretOf: () => "",
      failed,
      now: () => NOW,
      interval: 2,
    });
    await vi.waitFor(() => expect(failed).toHaveBeenCalled());
    await stop();
    expect(post).not.toHaveBeenCalled();
  });
});

describe("a post of JSON", () => {
  it("is retried after a 503, and carries body and signature", async () => {
    const seen: { body: string; signature: unknown; type: unknown }[] = [];
    const server = createServer((request, response) => {
      let body = "";
      request.on("data", (piece) => (body += piece));
      request.on("end", () => {
        const { "x-signalbox-signature": signature, "content-type": type } = request.headers;
        seen.push({ body, signature, type });
        response.writeHead(seen.length === 1 ? 503 : 204).end();
      });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    whenFileEnds(async () => void server.close());
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a TCP server has this address
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/hook`;
    const headers = { "x-signalbox-signature": "t=1,v1=ab" };
    expect(await jsonPoster()(url, "private", '{"a":1}', headers)).toBe(true);
    const message = { body: '{"a":1}', signature: "t=1,v1=ab", type: "application/json" };
    expect(seen).toEqual([message, message]);
    expect(await jsonPoster()(url, "public", "{}", headers)).toBe(false);
    expect(seen.length).toBe(2);
  });

  it("has a signature that its receiver can compute", async () => {
    const { signatureOf } = await import("../../src/server/alerts.ts");
    const expected = createHmac("sha256", "key").update("1795000000.{}").digest("hex");
    expect(signatureOf("key", NOW, "{}")).toBe(`t=1795000000,v1=${expected}`);
  });
});
