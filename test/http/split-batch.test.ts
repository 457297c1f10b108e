import { describe, expect, it } from "vitest";
import { formatEntry } from "../../src/cli/evidence/evidence.ts";
import { decisionFacts, rollUpOutcome } from "../../src/governance/roll-up.ts";
import { Increments } from "../../src/governance/increments.ts";
import { formatExposition } from "../../src/telemetry/families.ts";
import { requestMetrics } from "../../src/telemetry/request-metrics.ts";
import { requestLine } from "../../src/telemetry/log-record.ts";
import { requestAttributes } from "../../src/telemetry/span-trace.ts";
import { answerJson, startRouter, startUpstream, type Upstream } from "../support/router.ts";
import { endpoint, model, provider, route, table, workspace } from "../support/table.ts";

/** Embeds single inputs, but for those whose text stands in `refused`. */
function embedder(refused: readonly string[]): Promise<Upstream> {
  return startUpstream((response, { body }) => {
    const { input }: { readonly input: readonly string[] } = JSON.parse(body);
    if (input.some((text) => refused.includes(text))) {
      response.writeHead(500, { "content-type": "application/json" });
      response.end("{}");
      return;
    }
    const data = input.map((_, index) => ({
      object: "embedding",
      index,
      embedding: [0.5, 0.5, 0.5],
    }));
    answerJson(response, {
      object: "list",
      data,
      model: "v",
      usage: { prompt_tokens: 5, total_tokens: 5 },
    });
  });
}

describe("a batch that endpoints in two regions answered", () => {
  it("names both in the header, the evidence's line, the log, the span, the metrics and the summary", async () => {
    const upstreams = [await embedder(["c", "d"]), await embedder([])];
    const regions = ["eu-west", "us-east"];
    const router = await startRouter({
      table: table({
        providers: upstreams.map(({ url }, index) =>
          provider(`p${index}`, { baseUrl: `${url}/v1`, region: regions[index] ?? "" }),
        ),
        models: [
          model("m", {
            operations: ["embed"],
            dimensions: [3],
            contextWindow: 8_000,
            capabilities: [],
          }),
        ],
        endpoints: upstreams.map((_, index) =>
          endpoint(`e${index}`, {
            provider: `p${index}`,
            region: regions[index] ?? "",
            batch: { inputs: 1, tokens: null },
          }),
        ),
        routes: [route("r", "e0", ["e1"], { operations: ["embed"] })],
        workspaces: [
          workspace("w", {
            providers: ["p0", "p1"],
            regions,
            dimensions: [3],
            contextWindow: 8_000,
          }),
        ],
      }),
    });
    const response = await fetch(`${router.url}/v1/embeddings`, {
      method: "POST",
      headers: { authorization: "Bearer good", "content-type": "application/json" },
      body: JSON.stringify({ model: "r", input: ["a", "b", "c", "d", "e", "f"] }),
    });
    expect(response.status).toBe(200);
    expect(response.headers.get("x-signalbox-route")).toBe(
      "r; endpoint=e0; provider=p0; region=eu-west, r; endpoint=e1; provider=p1; region=us-east",
    );
    await router.settled(1);
    const [decision, outcome] = [router.decisions[0], router.outcomes[0]];
    if (decision === undefined || outcome === undefined) throw new Error("no record");
    const ended = { decision, outcome, traceId: null };
    expect(formatEntry({ sequence: 1, decision, outcome })).toContain(
      "r -> p0/eu-west + p1/us-east",
    );
    expect(requestLine(ended)).toMatchObject({
      endpoint: "e0,e1",
      provider: "p0,p1",
      region: "eu-west,us-east",
    });
    expect(requestAttributes(ended)).toMatchObject({
      "signalbox.regions": regions,
      "signalbox.endpoints": ["e0", "e1"],
    });
    // Five tokens for each of six calls: four in eu, two in us.
    const metrics = requestMetrics();
    metrics.ended(decision.operation, ended);
    const page = formatExposition(metrics.families, undefined).text;
    expect(page).toMatch(/^signalbox_tokens_total\{route="r",provider="p0",type="input"\} 20$/m);
    expect(page).toMatch(/^signalbox_tokens_total\{route="r",provider="p1",type="input"\} 10$/m);
    const increments = new Increments();
    rollUpOutcome(increments, decisionFacts(decision), outcome);
    const counts = increments.entries().filter(({ facet }) => facet === "place");
    expect(
      counts.map(({ labels, cell }) => [
        labels,
        cell.get("requests"),
        cell.get("attempts"),
        cell.get("input_tokens"),
      ]),
    ).toEqual([
      ['["p0","eu-west","m"]', 1, expect.any(Number), 20],
      ['["p1","us-east","m"]', 1, 2, 10],
    ]);
  });
});
