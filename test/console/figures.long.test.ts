import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EMPTY } from "./answers/all.ts";
import { decisionLine, decisionList, REFUSED, SECOND } from "./answers/decisions.ts";
import {
  callsOf,
  HEALTH,
  KEY_BUDGET,
  measures,
  NO_TRAFFIC,
  SHADOWS,
  spend,
  STATUS,
  STOPPED,
  summary,
} from "./answers/figures.ts";
import { keyPage, serviceKey } from "./answers/keys.ts";
import { SIGNED_IN } from "./answers/session.ts";
import { CHROMIUM, openStage, WITHOUT, type Stage } from "./browser.ts";
import { fault, type Answers } from "./fake-server.ts";

const soon = new Date(Date.now() + 3 * 86_400_000).toISOString();
const READS: Answers = {
  "GET /v1/health": { body: HEALTH },
  "GET /status": { body: STATUS },
  "GET /v1/governance/summary": ({ query }) => ({ body: summary(query.get("group_by"), SHADOWS) }),
  "GET /v1/spend": ({ query, headers }) =>
    headers.accept === "text/csv"
      ? { body: "route,cost_usd\nchat-large,612.4\n" }
      : { body: spend(query.get("group_by")) },
  "GET /v1/keys": ({ query }) => ({
    body: query.has("expires_before")
      ? keyPage([serviceKey(0, { expires_at: soon })], null, 100)
      : keyPage([], null, 1),
  }),
};

describe.skipIf(CHROMIUM === null)(`figures in the console${WITHOUT}`, { timeout: 120_000 }, () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage();
  }, 120_000);
  afterAll(() => stage.close(), 120_000);

  test("the overview lists problems first, then the totals, and draws their course", async () => {
    const page = await stage.open("#/", READS);
    const attention = page.getByRole("region", { name: "Needs attention" });
    await expect.poll(() => attention.getByRole("listitem").count()).toBe(4);
    const concerns = await attention.getByRole("listitem").allTextContents();
    expect(concerns[0]).toContain("gpt-5-us: rate limited");
    expect(concerns[1]).toContain("$803.72 of $1,000.00");
    expect(concerns[2]).toContain("would newly deny 14 of 4,870 requests");
    expect(concerns[3]).toContain("k00000000000");
    await expect.poll(() => page.locator(".plot canvas").count()).toBe(3);
    const traffic = page.getByRole("region", { name: "Traffic by route" });
    await expect.poll(() => traffic.locator("tbody tr").count()).toBe(4);
    const endpoints = page.getByRole("region", { name: "Endpoints that are out" });
    await expect
      .poll(() => endpoints.locator("tbody tr").allTextContents())
      .toEqual([expect.stringContaining("ejected")]);
    expect(stage.complaints).toEqual([]);
  });

  test.each([
    ["that goes on", 50, 60, "failing", /chat-large: 1,000 of [\d,]+ requests failed since 02:50$/],
    ["that is over", 10, 20, "failed", /: 1,000 of [\d,]+ requests failed from 02:10 to 02:20$/],
  ])(
    "a spike of failures %s has its minutes, with the way to its requests",
    async (_, from, until, kind, text) => {
      const hour = summary("minute,route", SHADOWS);
      const groups = hour.groups.map((group, at) => {
        if (group.ended === null) return group;
        const failed = at >= from && at < until ? 100 : 0;
        return {
          ...group,
          ended: { ...group.ended, terminals: { ...group.ended.terminals, failed } },
        };
      });
      const page = await stage.open(
        "#/",
        {
          ...READS,
          "GET /v1/governance/summary": ({ query }) => {
            const by = query.get("group_by");
            return { body: by === "minute,route" ? { ...hour, groups } : summary(by, SHADOWS) };
          },
        },
        { now: "2026-11-24T02:00:00Z" },
      );
      const concern = page.getByRole("link", { name: text });
      expect(await concern.getAttribute("href")).toBe(
        "#/decisions?route=chat-large&terminal=failed&since=1",
      );
      await page.getByText(kind, { exact: true }).waitFor();
    },
  );

  test("a route that its second choice serves is named with both endpoints and the beginning", async () => {
    const hour = summary("minute,route", SHADOWS);
    const groups = hour.groups.map((group, at) => ({
      ...group,
      ended: { ...group.ended, second_choice: { total: at < 46 ? 0 : 3 } },
    }));
    const page = await stage.open(
      "#/",
      {
        ...READS,
        "GET /v1/governance/summary": ({ query }) => {
          const by = query.get("group_by");
          return { body: by === "minute,route" ? { ...hour, groups } : summary(by, SHADOWS) };
        },
        "GET /v1/decisions": { body: decisionList(1) },
        "GET /v1/decisions/*": { body: SECOND },
      },
      { now: "2026-11-24T02:00:00Z" },
    );
    const name =
      /chat-large: 42 of [\d,]+ requests answered by mistral-small-eu instead of gpt-5-mini-eu since 02:46, because gpt-5-mini-eu is ejected$/;
    await page.getByRole("link", { name }).waitFor();
    expect(stage.complaints).toEqual([]);
  });

  test.each([
    ["an hour ago or less", 20, "1h", /first request at 02:41/],
    ["within three hours", 100, "3h", /first request at 01:21/],
  ])(
    "where the first request came %s, the overview begins with a span that shows it",
    async (_, minutes, name, text) => {
      const now = Date.parse("2026-11-24T02:00:30Z");
      const since = (ago: number): string =>
        new Date(now - ago * 60_000).toISOString().replace(/:30\.000Z$/, ":00Z");
      const young = (by: string | null): object => {
        const all = summary(by);
        const [group] = all.groups;
        const label = by === "hour" ? `${since(minutes).slice(0, 13)}:00:00Z` : since(minutes - 1);
        return { ...all, groups: [{ ...group, group: { [by ?? ""]: label } }] };
      };
      const page = await stage.open(
        "#/",
        {
          ...READS,
          "GET /v1/governance/summary": ({ query }) => ({ body: young(query.get("group_by")) }),
        },
        { now: new Date(now).toISOString() },
      );
      await page.getByText(text).waitFor();
      const title = name.replace("h", " h");
      const pressed = page.getByRole("button", { name: title, exact: true });
      expect(await pressed.getAttribute("aria-pressed")).toBe("true");
      await page.getByRole("heading", { name: "Requests by minute" }).waitFor();
      expect(stage.complaints).toEqual([]);
    },
  );

  test("counts of denied and refused requests are links to exactly these requests", async () => {
    const page = await stage.open("#/", {
      ...READS,
      "GET /v1/governance/summary": ({ query }) => ({
        body: summary(query.get("group_by"), SHADOWS, STOPPED),
      }),
    });
    const link = page.getByRole("link", { name: "812" });
    expect(await link.getAttribute("href")).toBe(
      "#/decisions?policy=eu-residency&constraint=processed_in_eu&reason=NO_EU_ENDPOINT&since=24",
    );
  });

  test("the last hour is drawn by minute, and a promoted revision is no candidate", async () => {
    const page = await stage.open("#/?window=1h", {
      ...READS,
      "GET /v1/governance/summary": ({ query }) => ({
        body: { ...summary(query.get("group_by"), SHADOWS), policies: [] },
      }),
    });
    await page.getByRole("heading", { name: "Requests by minute" }).waitFor();
    const byMinute = (): number =>
      stage.server.requests.filter(({ query }) => query.get("group_by") === "minute").length;
    await expect.poll(byMinute).toBe(2);
    expect(await page.getByText("would newly deny").count()).toBe(0);
  });

  test("a request that is answered 429 is repeated, and no error is shown meanwhile", async () => {
    let refused = 0;
    const page = await stage.open("#/", {
      ...READS,
      "GET /v1/governance/summary": ({ query }) => {
        refused += 1;
        return refused <= 3
          ? {
              ...fault(429, "summary_busy", "Too many summaries."),
              headers: { "retry-after": "1" },
            }
          : { body: summary(query.get("group_by"), SHADOWS) };
      },
    });
    await page.getByRole("region", { name: "Traffic by route" }).waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
  });

  test("the time span moves on while the page stays open", async () => {
    const page = await stage.open("#/spend", READS);
    await page.getByText("will not last").waitFor();
    const startOf = (): string =>
      stage.server.requests
        .findLast(
          ({ path, query }) =>
            path === "/v1/spend" && query.get("group_by") === "route" && !query.has("end"),
        )
        ?.query.get("start") ?? "";
    await page.clock.install();
    await page.reload();
    await page.getByText("will not last").waitFor();
    const first = Date.parse(startOf());
    await page.clock.runFor(3_600_000);
    await expect.poll(() => Date.parse(startOf()) - first).toBeGreaterThanOrEqual(3_000_000);
  });

  test("a degraded store is listed first and a lost replica after errors, also where the store does not answer", async () => {
    const lost = {
      started_at: "2026-11-21T22:00:00.000Z",
      seen_at: "2026-11-24T01:40:00.000Z",
      state: "lost",
    };
    const degraded = {
      ...STATUS,
      degraded: ["evidence"],
      evidence: { state: "unavailable", cause: "log_behind" },
    };
    const page = await stage.open("#/", {
      ...READS,
      "GET /status": { body: degraded },
      "GET /v1/health": { body: { ...HEALTH, replicas: [...(HEALTH.replicas ?? []), lost] } },
    });
    const attention = page.getByRole("region", { name: "Needs attention" });
    await expect.poll(() => attention.getByRole("listitem").count()).toBe(6);
    const concerns = await attention.getByRole("listitem").allTextContents();
    expect(concerns[0]).toContain("evidence store does not take records");
    expect(concerns[2]).toContain("replica lost");
    const replicas = page
      .getByRole("region", { name: "Processes that write the shared store" })
      .locator("tbody tr");
    expect(await replicas.count()).toBe(3);
    const refused = fault(503, "evidence_unavailable", "The evidence store cannot be written now.");
    const dark = await stage.open("#/", {
      "GET /status": { body: degraded },
      "GET /v1/health": refused,
      "GET /v1/governance/summary": refused,
      "GET /v1/spend": refused,
      "GET /v1/keys": refused,
    });
    await dark.getByText("evidence store does not take records").waitFor();
    expect(await dark.getByRole("alert").first().textContent()).toContain("cannot be written now");
    await dark.getByText("log behind").waitFor();
    expect(stage.complaints).toEqual([]);
  });

  test("many keys that expire soon are one line, which names the first and leads to their list", async () => {
    const keys = Array.from({ length: 300 }, (_, at) => serviceKey(at, { expires_at: soon }));
    const page = await stage.open("#/", {
      ...READS,
      "GET /v1/keys": ({ query }) => ({
        body: keyPage(
          query.has("expires_before") ? keys : [serviceKey(999)],
          query.get("after"),
          Number(query.get("limit")),
        ),
      }),
    });
    const attention = page.getByRole("region", { name: "Needs attention" });
    await attention.getByText("More than 100 keys expire soon").click();
    await expect
      .poll(() => page.getByRole("region", { name: "Keys" }).locator("tbody tr").count())
      .toBe(50);
    await page.getByRole("button", { name: "Later" }).click();
    await page.getByText("k00000000050").waitFor();
    await page.getByRole("button", { name: "All" }).click();
    await page.getByText("k00000000999").waitFor();
    expect(stage.complaints).toEqual([]);
  });

  test.each([
    ["made for a day and in its last day", 1, 20, true],
    ["made for a week, with two days left", 7, 48, false],
    ["made for a week, with its last hours left", 7, 5, true],
    ["made for 90 days, with ten days left", 90, 240, true],
  ])("overview and keys agree on a key %s", async (_, days, hoursLeft, expiresSoon) => {
    const now = Date.parse("2026-11-24T02:00:00Z");
    const end = now + hoursLeft * 3_600_000;
    const key = serviceKey(0, {
      expires_at: new Date(end).toISOString(),
      created_at: new Date(end - days * 86_400_000).toISOString(),
    });
    const answers: Answers = {
      ...READS,
      "GET /v1/health": { body: { ...HEALTH, endpoints: HEALTH.endpoints.slice(0, 1) } },
      "GET /v1/governance/summary": ({ query }) => ({ body: summary(query.get("group_by")) }),
      "GET /v1/spend": { body: spend(null, { budgets: [] }) },
      "GET /v1/keys": { body: keyPage([key], null, 100) },
    };
    const options = { now: new Date(now).toISOString() };
    const overview = await stage.open("#/", answers, options);
    const text = expiresSoon ? "(k00000000000) expires" : "no key about to expire";
    await overview.getByRole("region", { name: "Needs attention" }).getByText(text).waitFor();
    const keys = await stage.open("#/keys", answers, options);
    await keys.getByText("k00000000000").waitFor();
    expect(await keys.getByText("expires soon").count()).toBe(expiresSoon ? 1 : 0);
  });

  test("an endpoint whose calls fail is listed as failing, and healthy ones are not", async () => {
    const page = await stage.open(
      "#/",
      {
        ...READS,
        "GET /v1/governance/summary": ({ query }) => ({
          body:
            query.get("group_by") === "provider,region,model"
              ? callsOf(HEALTH.endpoints.slice(0, 2), 12)
              : summary(query.get("group_by"), SHADOWS),
        }),
      },
      { now: "2026-11-24T02:00:00Z" },
    );
    const rows = page.getByRole("region", { name: "Endpoints that are out" }).locator("tbody tr");
    await expect.poll(() => rows.count()).toBe(2);
    expect(await rows.first().textContent()).toContain(
      "gpt-5-eufailing 12 of 85 calls since 02:00",
    );
    expect(await rows.first().locator(".badge.widen").count()).toBe(1);
    expect(await rows.nth(1).textContent()).toContain("ejected");
    await page.getByText("2 healthy endpoints").waitFor();
    expect(stage.complaints).toEqual([]);
  });

  test.each([
    ["no larger share", 1, 0],
    ["a larger share", 2, 1],
  ])(
    "more requests with %s of denials (%s times as many) show %s red figures",
    async (_, times, red) => {
      const before = measures(10_000);
      const totals = measures(20_000, { denied: times * 500, refused: 100 });
      const page = await stage.open("#/", {
        ...READS,
        "GET /v1/governance/summary": ({ query }) => ({
          body: query.has("end")
            ? { ...summary(null), totals: before }
            : { ...summary(query.get("group_by"), SHADOWS), totals },
        }),
      });
      await page.getByText("against the 24 h before").waitFor();
      const figure = page.locator(".figure").filter({ hasText: "Denied or refused" });
      expect(await figure.textContent()).toContain(
        `${(times * 500 + 100).toLocaleString("en")} of 20.0K`,
      );
      expect(await figure.locator(".stop").count()).toBe(red);
      const table = page.getByRole("region", { name: "Traffic by route" });
      expect((await table.locator("th").allTextContents()).slice(3, 5)).toEqual([
        "Failed",
        "Failed, %",
      ]);
      expect((await table.locator("tbody tr").first().locator("td").allTextContents())[4]).toBe(
        "1%",
      );
    },
  );

  test("the course of the requests can be read as a table", async () => {
    const page = await stage.open("#/", READS);
    await page.getByText("As a table").first().click();
    const rows = page.getByRole("region", { name: "Requests", exact: true }).locator("tbody tr");
    await expect.poll(() => rows.count()).toBe(24);
    expect(await rows.first().textContent()).toContain("1,920");
  });

  test("a time span is in the address and reaches the API", async () => {
    const page = await stage.open("#/", READS);
    await page.getByRole("button", { name: "30 d" }).click();
    await expect.poll(() => page.url()).toContain("window=30d");
    await expect
      .poll(() => stage.server.requests.some(({ query }) => query.get("group_by") === "day"))
      .toBe(true);
  });

  test("a workspace without requests and a server without the parts show a note", async () => {
    const page = await stage.open("#/", { "GET /v1/governance/summary": { body: NO_TRAFFIC } });
    await page.getByRole("heading", { name: "No request yet" }).waitFor();
    expect(await page.locator("pre").textContent()).toContain("curl http://127.0.0.1:");
    expect(await page.getByText("Not available on this server").count()).toBe(2);
    expect(stage.complaints).toEqual([]);
  });

  test("a workspace that reaches no endpoint is shown as unhealthy, and every text to copy has a route", async () => {
    const overview = await stage.open("#/", EMPTY);
    const attention = overview.getByRole("region", { name: "Needs attention" });
    await attention.locator(".badge.stop").getByText("no route yet").waitFor();
    await overview.getByText("There is no route for chats yet").waitFor();
    expect(await overview.getByText("all well").count()).toBe(0);
    expect(await overview.getByRole("button", { name: "Copy" }).count()).toBe(0);
    const connect = await stage.open("#/connect", EMPTY);
    await connect.getByText("There is no route for chats yet").waitFor();
    expect(await connect.getByRole("button", { name: "Copy" }).count()).toBe(0);
    expect(stage.complaints).toEqual([]);
  });

  test("an empty spend page links to 30 days, and from there to a first request", async () => {
    const page = await stage.open("#/spend?window=7d", EMPTY);
    await page.getByRole("link", { name: "Show the last 30 days" }).click();
    await page.getByText("Nothing was spent in this time span").waitFor();
    const connect = page.getByRole("main").getByRole("link", { name: "Connect" });
    expect(await connect.getAttribute("href")).toBe("#/connect");
    expect(await page.getByRole("button", { name: "Download CSV" }).count()).toBe(0);
  });

  test("spend shows budgets, unknown costs as unknown, and the API's own CSV", async () => {
    const page = await stage.open("#/spend", READS, { now: "2026-11-24T02:00:00Z" });
    await page.getByText("will not last").waitFor();
    const budgets = page.getByRole("region", { name: "Budgets" }).locator("tbody tr");
    // 196.28 of 237.38 dollars are left for 166 hours: spent after 137 of them.
    expect(await budgets.first().textContent()).toContain("about 29 Nov, 20:15");
    expect(await budgets.nth(1).textContent()).toContain("not before it is renewed");
    const rows = await page
      .getByRole("region", { name: "Spend by route" })
      .locator("tbody tr")
      .allTextContents();
    expect(rows[0]).toContain("$875.32");
    expect(rows.at(-1)).toContain("unknown");
    await page.getByText(/176,027 requests had no known cost/).waitFor();
    const unpriced = page.locator(".figure .widen");
    expect(await unpriced.textContent()).toBe("without 176,027 requests of unknown price");
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download CSV" }).click();
    expect((await download).suggestedFilename()).toBe("spend.csv");
    await page.getByRole("button", { name: "Day" }).click();
    await page.getByRole("button", { name: "Route", exact: true }).click();
    // The budget that does not last, and the cost: the other one is hardly used.
    await expect.poll(() => page.locator(".plot canvas").count()).toBe(2);
    expect(stage.complaints).toEqual([]);
  });

  test("budgets of keys have the name of their key, and each its line on the overview", async () => {
    const spent = { ...KEY_BUDGET, key: "k00000000001", spent_usd: 2.1 };
    const budgets = [...spend(null).budgets, KEY_BUDGET, spent];
    const answers: Answers = {
      ...READS,
      "GET /v1/spend": ({ query }) => ({ body: spend(query.get("group_by"), { budgets }) }),
      "GET /v1/keys": {
        body: keyPage([serviceKey(1, { id: "4fzkq8wpc2rt", name: "checkout" })], null, 1),
      },
    };
    const page = await stage.open("#/spend", answers, { now: "2026-11-24T02:00:00Z" });
    const rows = page.getByRole("region", { name: "Budgets" }).locator("tbody tr");
    await rows.filter({ hasText: "checkout" }).waitFor();
    expect((await rows.allTextContents()).slice(0, 4)).toEqual([
      expect.stringMatching(/^spentsearchk00000000001\$ per day.*refuses now/),
      expect.stringMatching(/^will not lastsearchcheckout\$ per day.*\$0\.847\$2\.00\$10\.16about/),
      expect.stringContaining("$ per month"),
      expect.stringContaining("lasts"),
    ]);
    expect(await rows.first().getByRole("link").getAttribute("href")).toBe(
      "#/decisions?outcome=refuse&reason=budget_exhausted&key=k00000000001",
    );
    const overview = await stage.open("#/", answers, { now: "2026-11-24T02:00:00Z" });
    const attention = overview.getByRole("region", { name: "Needs attention" });
    await attention.getByText(/^search, key checkout \$ per day: .* will be spent about/).waitFor();
    const concerns = await attention.getByRole("listitem").allTextContents();
    // Red ones first.
    expect(concerns.slice(0, 2)).toEqual([
      expect.stringContaining("rate limited"),
      expect.stringMatching(
        /^budget spent search, key k00000000001 .*\$2\.10 of \$2\.00, refuses now, renews/,
      ),
    ]);
    expect(stage.complaints).toEqual([]);
  });

  test.each([
    ["a day of Berlin", "usd/day", "2026-11-23T23:00:00Z", "2026-11-24T23:00:00Z", 3, 28],
    ["a month of Berlin", "usd/month", "2026-10-31T23:00:00Z", "2026-11-30T23:00:00Z", 24, 50],
  ])("%s is drawn from its start, and ends at the sum that is spent", async (...row) => {
    const [, name, window_start, window_end, hours, spent_usd] = row;
    const first = Date.parse(window_start);
    const groups = Array.from({ length: hours }, (_, at) => ({
      group: { hour: new Date(first + at * 3_600_000).toISOString().replace(".000Z", "Z") },
      ...spend(null).total,
      cost_usd: 1,
    }));
    const budget = { name, workspace: "search", key: null, limit_usd: 60, projected_usd: 70 };
    const page = await stage.open(
      "#/spend",
      {
        ...READS,
        "GET /v1/spend": ({ query }) => ({
          body: {
            ...spend(query.get("group_by")),
            ...(query.get("group_by") === "hour" && { groups }),
            budgets: [{ ...budget, spent_usd, window_start, window_end }],
          },
        }),
      },
      { now: "2026-11-24T02:00:00Z" },
    );
    const title = `Left of search ${name.replace("usd/", "$ per ")}`;
    const course = page.locator(".course", { hasText: title });
    await course.getByText("As a table").click();
    const left = await course.locator(".scroll td:nth-child(2)").allTextContents();
    const times = await course.locator(".scroll td:first-child").allTextContents();
    const ofHours = stage.server.requests.find(
      ({ path, query }) => path === "/v1/spend" && query.get("group_by") === "hour",
    );
    expect(ofHours?.query.get("start")).toBe(window_start);
    expect([times[0], left[0], left[1]]).toEqual([
      hours === 3 ? "24 Nov, 00:00" : "01 Nov, 00:00",
      "$60.00",
      hours === 3 ? "$59.00" : "$36.00",
    ]);
    expect([times.at(-2), left.at(-2), left.at(-1)]).toEqual([
      "24 Nov, 03:00",
      `$${60 - spent_usd}.00`,
      "–",
    ]);
    expect(stage.complaints).toEqual([]);
  });

  describe("requests that the budget of a key refused, which has a little left", () => {
    const now = "2026-11-24T02:00:00Z";
    const key = KEY_BUDGET.key;
    const lines = [58, 50, 6].map((minute, at) => ({
      ...decisionLine(at),
      id: `req_refused${at}`,
      at: `2026-11-24T01:${String(minute).padStart(2, "0")}:00.000Z`,
      outcome: "refuse" as const,
      reason: "exceeds_remaining_budget",
      key,
      repeated: at === 0 ? 9 : 1,
    }));
    const before = { ...lines[0], at: "2026-11-23T23:00:00.000Z" };
    const reasons = { exceeds_remaining_budget: 11, requests_per_minute: 4, invalid_api_key: 9 };
    const groups = Object.entries(reasons).map(([reason_code, refused]) => ({
      group: { reason_code, workspace: "search" },
      ...measures(refused, { refused }),
    }));
    const verdict = { policy: null, constraint: null, denied: 0, refused: 0 };
    const verdicts = [
      { ...verdict, reason_code: "model_not_found", denied: 14 },
      { ...verdict, reason_code: "exceeds_remaining_budget", refused: 11 },
    ];
    const refusedBy = (subject: "key" | "workspace"): Answers => ({
      ...READS,
      "GET /v1/spend": ({ query }) => ({
        body: spend(query.get("group_by"), {
          budgets: [...spend(null).budgets, { ...KEY_BUDGET, spent_usd: 1.9 }],
        }),
      }),
      "GET /v1/keys": {
        body: keyPage([serviceKey(1, { id: key ?? "", name: "checkout" })], null, 1),
      },
      "GET /v1/decisions": ({ query }) => ({
        body: {
          ...decisionList(0),
          data:
            query.get("reason") === "exceeds_remaining_budget"
              ? [...lines, before].map((line) => ({
                  ...line,
                  limit: REFUSED.limit && { ...REFUSED.limit, subject },
                }))
              : [],
        },
      }),
      "GET /v1/governance/summary": ({ query }) => {
        const by = query.get("group_by");
        const all = summary(by, [], { totals: measures(240), verdicts });
        return { body: by === "reason_code,workspace" ? { ...all, groups } : all };
      },
    });

    test("spend lists refused requests in the row of the key, without a forecast, and not in the workspace's", async () => {
      const page = await stage.open("#/spend?window=24h", refusedBy("key"), { now });
      const reasonRows = page
        .getByRole("region", { name: "Refused by limits in this time span" })
        .locator("tbody tr");
      await expect
        .poll(() => reasonRows.allTextContents())
        .toEqual(["exceeds_remaining_budgetsearch11", "requests_per_minutesearch4"]);
      const rows = page.getByRole("region", { name: "Budgets" }).locator("tbody tr");
      await expect
        .poll(async () => (await rows.allTextContents())[0])
        .toMatch(/^refusing nowsearchcheckout.*\$1\.90\$2\.00–11 refused since .*06, last .*58:00/);
      expect(await rows.first().locator(".badge.stop").count()).toBe(1);
      // Red from `high` on, amber from `low` on.
      const limits = await page.evaluate<unknown>(
        `Array.from(document.querySelectorAll("meter"), (each) => [each.value > each.low, each.value > each.high])`,
      );
      expect(limits).toEqual([
        [true, true],
        [true, false],
        [false, false],
      ]);
      expect(await rows.first().getByRole("link").getAttribute("href")).toBe(
        `#/decisions?outcome=refuse&reason=exceeds_remaining_budget&key=${key}`,
      );
      expect(await rows.nth(2).textContent()).toMatch(/^lasts.*not before it is renewed/);
      expect(await rows.nth(2).locator(".badge.good").count()).toBe(1);
      expect(stage.complaints).toEqual([]);
    });

    test("a workspace's lasting budget is not shown as healthy beside refusals", async () => {
      const page = await stage.open("#/spend?window=24h", refusedBy("workspace"), { now });
      const row = page.getByRole("region", { name: "Budgets" }).locator("tbody tr").nth(2);
      await expect.poll(() => row.textContent()).toMatch(/^lasts.*11 refused since/);
      expect(await row.locator(".badge.good").count()).toBe(0);
      expect(stage.complaints).toEqual([]);
    });

    test("the overview has one line for refused requests of a key, and one for unknown models", async () => {
      const page = await stage.open("#/", refusedBy("key"), { now });
      const attention = page.getByRole("region", { name: "Needs attention" });
      const all = () => attention.getByRole("listitem").allTextContents();
      await expect
        .poll(all)
        .toContainEqual(
          expect.stringMatching(
            /^budget refuses search, key checkout \$ per day: \$1\.90 of \$2\.00, 11 refused since .*06, last .*58:00, renews/,
          ),
        );
      const concerns = await all();
      expect(concerns.filter((each) => each.includes("refuse"))).toHaveLength(1);
      expect(concerns).toContainEqual("denied 14 of 240 requests not served: model not found");
      const tones = await attention
        .locator(".badge")
        .evaluateAll((badges) => badges.map((badge) => badge.classList.contains("stop")));
      expect(tones.toSorted((left, right) => Number(right) - Number(left))).toEqual(tones);
      expect(stage.complaints).toEqual([]);
    });
  });

  test("spend is grouped by several dimensions at once, and a provider excludes keys and routes", async () => {
    const page = await stage.open("#/spend", READS);
    const grouped = (): string | null | undefined =>
      stage.server.requests.findLast(({ path }) => path === "/v1/spend")?.query.get("group_by");
    for (const name of ["Key", "Model", "Day"])
      await page.getByRole("button", { name, exact: true }).click();
    await expect.poll(grouped).toBe("route,key,model,day");
    const table = page.getByRole("region", { name: "Spend by route, key, model, day" });
    const heads = await table.locator("th").allTextContents();
    expect(heads.slice(0, 5)).toEqual(["Route", "Key", "Model", "Day", "Cost"]);
    await page.getByRole("button", { name: "Provider", exact: true }).click();
    await expect.poll(grouped).toBe("provider,model,day");
    expect(stage.complaints).toEqual([]);
  });

  test("spend is neither requested nor offered without its scope", async () => {
    const scopes = SIGNED_IN.scopes.filter((scope) => scope !== "spend:read");
    const page = await stage.open("#/", {
      ...READS,
      "GET /console/session": { body: { ...SIGNED_IN, scopes } },
    });
    await page.getByRole("region", { name: "Traffic by route" }).waitFor();
    expect(await page.getByRole("link", { name: "Spend", exact: true }).count()).toBe(0);
    expect(stage.server.requests.filter(({ path }) => path === "/v1/spend")).toEqual([]);
  });
});
