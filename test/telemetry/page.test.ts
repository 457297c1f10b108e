import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { serverMetrics } from "../../src/server/server-telemetry.ts";
import type { StatusSources } from "../../src/server/status-metrics.ts";
import { familyName } from "../../src/telemetry/families.ts";
import { EndpointTracker } from "../../src/dispatch/endpoint-tracker.ts";
import { failureOf } from "../../src/canon/failure.ts";
import { startTestServer } from "../support/server.ts";
import { parseExposition, sumOf } from "./parse-exposition.ts";

const DOCUMENT = join(import.meta.dirname, "../../docs/observability.md");

async function chat(url: string, key: string): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "chat-small", messages: [{ role: "user", content: "Hello" }] }),
  });
}

/** The document's table of metrics: their facts do not depend on what is read. */
function metricsTable(): string {
  const metrics = serverMetrics();
  metrics.begin({ runtime: {} } as StatusSources)();
  const rows = metrics.families().map((family) => {
    const { help, labels } = family;
    return `| \`${familyName(family)}\` | ${family.kind} | ${labels.map((label) => `\`${label}\``).join(", ")} | ${help} |`;
  });
  return ["| Metric | Type | Labels | Meaning |", "|---|---|---|---|", ...rows].join("\n");
}

describe("endpoints", () => {
  it("count their ejections, and report ejections and readmissions", () => {
    const settings = {
      consecutiveFailures: 1,
      failureRatio: 0,
      minimumCalls: 1,
      window: 1_000,
      ejection: 100,
      longestEjection: 1_000,
      probe: null,
    };
    const reported: unknown[] = [];
    const tracker = new EndpointTracker(
      () => settings,
      (...change) => void reported.push(change),
    );
    expect(tracker.ejections("a")).toBe(0);
    for (const now of [0, 200, 600]) {
      tracker.begin("a", now);
      tracker.endCall(
        "a",
        { failure: failureOf("connect"), firstToken: null, tokensPerSecond: null },
        now,
      );
    }
    expect(tracker.ejections("a")).toBe(3);
    tracker.begin("a", 5_000);
    tracker.endCall("a", { failure: null, firstToken: null, tokensPerSecond: null }, 5_100);
    expect(reported).toEqual([
      ["a", "ejected", 1, "generate"],
      ["a", "ejected", 2, "generate"],
      ["a", "ejected", 3, "generate"],
      ["a", "readmitted", 3, "generate"],
    ]);
  });
});

describe("GET /metrics", () => {
  it("is served on the admin listener only, parses in both formats, and has the server's metrics", async () => {
    const running = await startTestServer();
    const { server } = running;
    const text = await running.key("demo", ["inference"]);
    expect((await chat(server.url, text)).status).toBe(200);
    await server.store.evidence.flush();
    const response = await fetch(`${server.adminUrl}/metrics`);
    expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    const page = parseExposition(await response.text());
    expect(
      sumOf(page, "signalbox_requests_total", { terminal: "completed", route: "chat-small" }),
    ).toBe(1);
    expect(sumOf(page, "signalbox_keys")).toBe(1);
    expect(sumOf(page, "signalbox_evidence_available")).toBe(1);
    expect(sumOf(page, "signalbox_accepting")).toBe(1);
    expect(sumOf(page, "process_resident_memory_bytes")).toBeGreaterThan(1e6);
    const { table } = server.built.snapshot.decider;
    expect(sumOf(page, "signalbox_table_info", { revision: table.revision })).toBe(1);
    for (const { id } of Object.values(table.endpoints)) {
      expect(sumOf(page, "signalbox_endpoint_state", { endpoint: id, state: "healthy" }), id).toBe(
        1,
      );
      expect(sumOf(page, "signalbox_endpoint_state", { endpoint: id }), id).toBe(1);
    }
    expect((await fetch(`${server.url}/metrics`)).status).toBe(404);
    const open = await fetch(`${server.adminUrl}/metrics`, {
      headers: { accept: "application/openmetrics-text" },
    });
    const openPage = parseExposition(await open.text(), "openmetrics");
    expect(openPage.size).toBe(page.size);
  });

  it("is documented, metric by metric (npm run generate writes the table)", async () => {
    const marks = /(<!-- metrics -->\n\n)[\s\S]*?(\n\n<!-- end of metrics -->)/;
    const document = readFileSync(DOCUMENT, "utf8");
    expect(document).toMatch(marks);
    const written = document.replace(
      marks,
      (_, begin: string, end: string) => `${begin}${metricsTable()}${end}`,
    );
    if (process.env.UPDATE_DOCS === "1") writeFileSync(DOCUMENT, written);
    expect(readFileSync(DOCUMENT, "utf8")).toBe(written);
    const { server } = await startTestServer();
    const page = parseExposition(await (await fetch(`${server.adminUrl}/metrics`)).text());
    for (const name of page.keys()) expect(written).toContain(`| \`${name}\` |`);
  });
});
