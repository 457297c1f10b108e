import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { EndpointHealth } from "../../console/api/types.ts";
import { callsOf, HEALTH, summary } from "./answers/figures.ts";
import { MODELS, simulation } from "./answers/routes.ts";
import { SIGNED_IN } from "./answers/session.ts";
import { CHROMIUM, openStage, WITHOUT, type Stage } from "./browser.ts";
import type { Answers, FakeRequest } from "./fake-server.ts";

const modelOf = ({ body }: FakeRequest): string => (body as { model: string }).model;
const inPlain = (each: EndpointHealth): EndpointHealth => ({
  ...each,
  plaintext: each.id === "gpt-5-us",
});
const READS: Answers = {
  "GET /v1/models": { body: MODELS },
  "GET /v1/health": { body: { ...HEALTH, endpoints: HEALTH.endpoints.map(inPlain) } },
  "POST /v1/route/simulate": (request) => ({ body: simulation(modelOf(request)) }),
};

describe.skipIf(CHROMIUM === null)(`routes in the console${WITHOUT}`, { timeout: 120_000 }, () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage();
  }, 120_000);
  afterAll(() => stage.close(), 120_000);

  test("draws workspace, routes and endpoints, and lists them with prices and health", async () => {
    const page = await stage.open("#/routes?workspace=search", READS);
    await expect.poll(() => page.locator(".drawing .node").count()).toBe(1 + 3 + 4);
    expect(await page.locator(".drawing path.shut").count()).toBe(2);
    const rows = page.getByRole("region", { name: "Endpoints of the routes" }).locator("tbody tr");
    expect(await rows.count()).toBe(6);
    const texts = await rows.allTextContents();
    expect(texts[0]).toContain("$1.25 / $10.00");
    expect(texts[0]).toContain("allowed, ejected now");
    // However many calls it had: now it gets none.
    const toEjected = page.locator(".drawing path.stop");
    expect(await toEjected.count()).toBe(1);
    expect(await toEjected.getAttribute("stroke-width")).toBe("1.2");
    await expect.poll(() => rows.first().textContent()).toContain("openai-us plain http");
    expect(await page.locator(".drawing .node").filter({ hasText: "plain http" }).count()).toBe(1);
    expect(await rows.filter({ hasText: "plain http" }).count()).toBe(1);
    expect(texts.at(-1)).toContain("left out eu-residency/processed_in_eu");
    expect(texts.at(-1)).toContain("no price");
    expect(stage.complaints).toEqual([]);
  });

  test("at 390 pixels the fold of the endpoints names those that are out or failing", async () => {
    const page = await stage.open(
      "#/routes?workspace=search",
      {
        ...READS,
        "GET /v1/governance/summary": ({ query }) => ({
          body:
            query.get("group_by") === "provider,region,model"
              ? callsOf(HEALTH.endpoints.slice(2, 3), 12)
              : summary(query.get("group_by")),
        }),
      },
      { width: 390, now: "2026-11-24T02:00:00Z" },
    );
    await page.getByText("6 endpoints, gpt-5-us ejected, mistral-large-eu failing").click();
    const row = page
      .getByRole("region", { name: "Endpoints of the routes" })
      .locator("tbody tr")
      .filter({ hasText: "mistral-large-eu" })
      .first();
    expect(await row.textContent()).toContain("failing 12 of 85 calls since 02:00");
    expect(await row.locator(".badge.widen").count()).toBe(1);
    expect(await page.locator(".drawing circle.widen").count()).toBe(1);
  });

  test("shows which workspaces may reach a region, with the filter in the URL", async () => {
    const page = await stage.open("#/routes?workspace=search", READS);
    await expect.poll(() => page.locator(".drawing .node").count()).toBe(8);
    await page.getByRole("combobox", { name: "Region", exact: true }).selectOption("us");
    await page.getByText("1 route of 3 can lead to us: chat-large.").waitFor();
    expect(page.url()).toContain("region=us");
  });

  test("all workspaces together show which workspace reaches which region", async () => {
    const page = await stage.open("#/routes?workspace=search", {
      ...READS,
      "GET /console/session": ({ headers }) => ({
        body: { ...SIGNED_IN, workspace: headers["x-signalbox-workspace"] ?? "search" },
      }),
      "GET /v1/models": ({ headers }) => ({
        body:
          headers["x-signalbox-workspace"] === "support"
            ? { ...MODELS, data: MODELS.data.slice(1, 2) }
            : MODELS,
      }),
    });
    await page
      .getByRole("combobox", { name: "Workspace" })
      .selectOption({ label: "all workspaces" });
    const table = page.getByRole("region", { name: "Regions by workspace" });
    await expect
      .poll(() => table.locator("th").allTextContents())
      .toEqual(["Workspace", "Routes", "eu", "eu-west", "us"]);
    await expect
      .poll(() => table.locator("tbody tr").allTextContents())
      .toEqual(["search3221", "support111–"]);
    // Two workspaces, three routes; no endpoint without a reading of their health.
    await expect
      .poll(() => page.locator(".drawing .node").count())
      .toBe(2 + 3 + HEALTH.endpoints.length);
    const support = page.locator(".drawing .node").filter({ hasText: "support" }).first();
    await support.hover();
    await expect.poll(() => page.locator(".drawing .node.dim").count()).toBeGreaterThan(0);
    expect(await support.getAttribute("class")).not.toContain("dim");
    await table.getByRole("link", { name: "support" }).click();
    await page.getByRole("heading", { name: "Who may reach what" }).waitFor();
    expect(await page.getByRole("combobox", { name: "Workspace" }).inputValue()).toBe("support");
    expect(stage.complaints).toEqual([]);
  });

  test("a form simulates a request, and shows the denying constraint", async () => {
    const page = await stage.open("#/routes?workspace=search", READS);
    await page.getByLabel("Model").selectOption("claude");
    await page.getByRole("checkbox", { name: "tools" }).check();
    await page.getByRole("button", { name: "Simulate" }).click();
    await page.getByText("No endpoint of the route is in the EU.").waitFor();
    const table = page.getByRole("region", { name: "Constraints that do not pass" });
    expect(await table.textContent()).toContain("NO_EU_ENDPOINT");
    // The page has sent a request of its own for each route, too.
    expect(stage.server.requests.map(({ body }) => body)).toContainEqual({
      model: "claude",
      needs: ["tools"],
      stream: false,
    });
    await page.getByLabel("Or a whole request, as JSON").fill("{");
    await page.getByRole("button", { name: "Simulate" }).click();
    expect(await page.getByRole("alert").textContent()).toContain("The request is not JSON");
  });

  test("without route:simulate the page lists the routes and requests nothing more", async () => {
    const session = { ...SIGNED_IN, scopes: ["catalogue:read"] };
    const page = await stage.open("#/routes?workspace=search", {
      ...READS,
      "GET /console/session": { body: session },
    });
    await page.getByText("NO_EU_ENDPOINT").waitFor();
    expect(stage.server.requests.filter(({ method }) => method === "POST")).toEqual([]);
    expect(await page.getByRole("button", { name: "Simulate" }).count()).toBe(0);
  });

  test("a workspace without routes shows the next step", async () => {
    const page = await stage.open("#/routes?workspace=search", {
      "GET /v1/models": { body: { object: "list", data: [] } },
    });
    await expect.poll(() => page.getByText("No route may be used").count()).toBe(1);
  });
});
