import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CHROMIUM, openStage, WITHOUT, type Stage } from "./browser.ts";
import { keyPage, serviceKey } from "./answers/keys.ts";
import { content } from "./answers/policies.ts";
import {
  DECISION,
  decisionLine,
  decisionList,
  decisionOf,
  EXPLANATION,
  REFUSED,
  WAITED,
} from "./answers/decisions.ts";
import { summary } from "./answers/figures.ts";
import { SIGNED_IN } from "./answers/session.ts";
import { fault, type Answers } from "./fake-server.ts";

const KEYS: Answers = { "GET /v1/keys": { body: keyPage([serviceKey(0)], null, 50) } };
const RULE = `package signalbox.policy.eu_residency

pass.processed_in_eu if {
	input.x
}

pass.other if true

pass["processed_in_eu"] if true
`;
const LIST: Answers = { "GET /v1/decisions": { body: decisionList(8) } };

describe.skipIf(CHROMIUM === null)(
  `decisions in the console${WITHOUT}`,
  { timeout: 120_000 },
  () => {
    let stage: Stage;
    beforeAll(async () => {
      stage = await openStage();
    }, 120_000);
    afterAll(() => stage.close(), 120_000);

    test("the navigation has the pages that the session's scopes allow", async () => {
      const page = await stage.open("#/decisions", LIST);
      const entries = page
        .getByRole("navigation", { name: "Pages", exact: true })
        .getByRole("link");
      await expect
        .poll(() => entries.allTextContents())
        .toEqual([
          "Overview",
          "Decisions",
          "Policies",
          "Spend",
          "Routes",
          "Connect",
          "Simulation report",
          "Keys",
        ]);
      const viewer = { ...SIGNED_IN, scopes: ["governance:read"] };
      const other = await stage.open("#/decisions", {
        ...LIST,
        "GET /console/session": { body: viewer },
      });
      const fewer = other.getByRole("navigation", { name: "Pages", exact: true }).getByRole("link");
      await expect
        .poll(() => fewer.allTextContents())
        .toEqual(["Overview", "Decisions", "Policies", "Connect", "Simulation report"]);
    });

    test("a key pasted by keyboard signs in, and Tab and Enter lead to a decision", async () => {
      let signedIn = false;
      const page = await stage.open("", {
        ...LIST,
        "GET /v1/decisions/*": decisionOf,
        "GET /console/session": () => ({
          body: signedIn ? SIGNED_IN : { signed_in: false, sign_in: { key: true, oidc: null } },
        }),
        "POST /console/session": ({ body }) => {
          signedIn = JSON.stringify(body) === '{"key":"sbx_test_1"}';
          return signedIn
            ? { body: SIGNED_IN }
            : fault(401, "invalid_api_key", "The key is not known.");
        },
      });
      await page.getByRole("textbox").or(page.locator("input[type=password]")).first().waitFor();
      await page.keyboard.type("sbx_test_2");
      await page.keyboard.press("Enter");
      await page.getByRole("alert").waitFor();
      expect(await page.getByRole("alert").textContent()).toContain("The key is not known.");
      await page.keyboard.press("ControlOrMeta+A");
      await page.keyboard.type("sbx_test_1");
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: "Sign out" }).waitFor();
      await page.goto(`${stage.origin}/console/#/decisions`);
      await page.getByRole("table").waitFor();
      for (let tabs = 0; tabs < 60; tabs += 1) {
        await page.keyboard.press("Tab");
        if (
          (
            await page.evaluate<string | null>("document.activeElement.getAttribute('href')")
          )?.startsWith("#/decisions/req_")
        )
          break;
      }
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Candidates and attempts" }).waitFor();
      expect(
        await page.evaluate<string>("JSON.stringify([localStorage.length, sessionStorage.length])"),
      ).toBe("[0,0]");
      expect(stage.complaints).toEqual([]);
    });

    test("the code of a sign-in link is used once and is gone from the address", async () => {
      const codes: unknown[] = [];
      const page = await stage.open("#sign-in=once-only-code", {
        ...LIST,
        "GET /console/session": { body: { signed_in: false, sign_in: { key: true, oidc: null } } },
        "POST /console/session": ({ body }) => {
          codes.push(body);
          return { body: SIGNED_IN };
        },
      });
      await page.getByRole("button", { name: "Sign out" }).waitFor();
      expect(codes).toEqual([{ code: "once-only-code" }]);
      expect(page.url()).not.toContain("once-only-code");
    });

    test("filters are in the address, reach the API, and stay after a reload", async () => {
      const page = await stage.open("#/decisions", {
        ...LIST,
        "GET /v1/governance/summary": ({ query }) => ({ body: summary(query.get("group_by")) }),
      });
      await page.getByRole("table").waitFor();
      await page.getByLabel("Outcome").selectOption("deny");
      await page.getByRole("combobox", { name: "Route" }).selectOption("chat-large");
      await expect.poll(() => page.url()).toContain("#/decisions?route=chat-large&outcome=deny");
      await page.reload();
      await page.getByRole("table").waitFor();
      expect(await page.getByRole("combobox", { name: "Route" }).inputValue()).toBe("chat-large");
      const last = stage.server.requests.findLast(({ path }) => path === "/v1/decisions");
      expect(Object.fromEntries(last?.query ?? [])).toEqual({
        kind: "inference",
        route: "chat-large",
        outcome: "deny",
        limit: "50",
        workspaces: "all",
      });
      await page.getByLabel("Requests").selectOption("all");
      await expect.poll(() => stage.server.requests.at(-1)?.query.has("kind")).toBe(false);
      expect(last?.headers["x-signalbox-workspace"]).toBe("search");
    });

    test("pages follow the cursor, and an unfinished search offers to continue", async () => {
      const page = await stage.open("#/decisions", {
        "GET /v1/decisions": ({ query }) =>
          query.get("cursor") === null
            ? { body: decisionList(50, "c2") }
            : { body: { ...decisionList(0, "c3") } },
      });
      await page.getByRole("button", { name: "Older" }).click();
      await page.getByText("No decision matches so far").waitFor();
      await expect
        .poll(() => page.getByRole("button", { name: "Search on" }).isEnabled())
        .toBe(true);
      await page.getByRole("button", { name: "Newer" }).click();
      await expect.poll(() => page.locator("tbody tr").count()).toBe(50);
    });

    test("a rare filter is searched in several calls, and shows its progress", async () => {
      const requested: (string | null)[] = [];
      const page = await stage.open("#/decisions?reason=RARE", {
        "GET /v1/decisions": ({ query }) => {
          const cursor = query.get("cursor");
          requested.push(`${cursor} ${query.get("limit")}`);
          const found = decisionList(cursor === "c3" ? 2 : 0, `c${requested.length + 1}`);
          return { body: { ...found, searched_to: "2026-11-23T23:00:00.000Z" } };
        },
      });
      await page.getByText("2 decisions, page 1, searched back to 24 Nov, 00:00").waitFor();
      // Bounded: the server records each call.
      expect(requested).toHaveLength(20);
      expect(requested.slice(0, 4)).toEqual(["null 50", "c2 50", "c3 50", "c4 48"]);
      await page.getByRole("button", { name: "Search on" }).click();
      await expect.poll(() => requested.length).toBe(40);
      expect(requested[20]).toBe("c21 50");
    });

    test("a denied decision shows the lines of the policy's revision at that time, with file and line", async () => {
      const denied = {
        ...DECISION,
        outcome: "deny",
        terminal: "denied",
        policy: "eu-residency",
        policy_revision: "r2",
        constraint: "processed_in_eu",
        reason: "OUTSIDE",
        plan: [],
        calls: [],
        attempts: 0,
        cost_usd: null,
      };
      const page = await stage.open(`#/decisions/${DECISION.id}`, {
        [`GET /v1/decisions/${DECISION.id}/explanation`]: {
          body: { ...EXPLANATION, same_table: false },
        },
        "GET /v1/decisions/*": { body: denied },
        "GET /v1/policies/eu-residency/content": {
          body: {
            ...content(null),
            sources: [{ package: "signalbox.policy.eu_residency", source: RULE }],
          },
        },
      });
      await page.getByText("Denied before any provider was called: OUTSIDE.").waitFor();
      await page.getByText("eu-residency.rego:3").waitFor();
      const requested = stage.server.requests.find(({ path }) => path.endsWith("/content"));
      expect(requested?.query.get("revision")).toBe("r2");
      // It called no provider, so its cost is none and not unknown.
      expect(await page.getByText("unknown").count()).toBe(0);
      expect(stage.complaints).toEqual([]);
    });

    test("a decision shows its attempts, verdicts in shadow and the command that repeats it", async () => {
      const page = await stage.open("#/decisions/req_1", { "GET /v1/decisions/*": decisionOf });
      await page.getByRole("heading", { name: "Candidates and attempts" }).waitFor();
      const rows = await page.locator("tbody tr").allTextContents();
      expect(rows[0]).toContain("rate limited");
      expect(rows[2]).toContain("not needed");
      expect(rows.at(-1)).toContain("would deny");
      await page.getByRole("button", { name: "Copy", exact: true }).last().click();
      expect(await page.evaluate<string>("navigator.clipboard.readText()")).toBe(DECISION.explain);
      expect(stage.complaints).toEqual([]);
    });

    test("a denial without a candidate has no panels that are empty", async () => {
      const denied = {
        ...DECISION,
        outcome: "deny",
        terminal: "denied",
        reason: "model_not_found",
        plan: [],
        calls: [],
        explain: null,
      };
      const page = await stage.open(`#/decisions/${DECISION.id}`, {
        ...KEYS,
        "GET /v1/decisions/*": ({ path }) => ({
          body: path.endsWith("/explanation") ? { ...EXPLANATION, explanation: null } : denied,
        }),
      });
      await page.getByRole("heading", { name: "Why it was denied" }).waitFor();
      await page.getByText(DECISION.table_revision.slice(0, 12)).waitFor();
      const titles = await page.getByRole("heading", { level: 2 }).allTextContents();
      expect(titles).not.toContain("Candidates and attempts");
      expect(titles).not.toContain("Repeat the decision");
      expect(stage.complaints).toEqual([]);
    });

    test("a request that a limit refused shows the limit's subject, size, usage and renewal", async () => {
      const page = await stage.open("#/decisions/req_refused", {
        "GET /v1/decisions/*": { body: REFUSED },
      });
      const panel = page.getByRole("region", { name: "Why it was refused" });
      const key = panel.getByRole("link", { name: "the key 4fzkq8wpc2rt" });
      await key.waitFor();
      const text = (await panel.textContent()) ?? "";
      for (const part of [
        "$2.31 used + at most $0.31 by this request = $2.62: $0.12 over the limit of $2.50",
        "Size$2.50 a day",
        "Used$2.31",
        "Of which reserved by running requests$0.24",
        "This request, at most$0.31",
        "Left$0.19",
        "Renews25 Nov, 01:00",
      ])
        expect(text).toContain(part);
      const candidates = page.getByRole("region", { name: "Candidates and attempts" }).last();
      expect(await candidates.textContent()).toContain("the request was refused");
      // Settled, reserved, this request up to the limit, and the part over it.
      const widths = await panel
        .locator(".bar rect")
        .evaluateAll((parts) => parts.map((part) => Number(part.getAttribute("width"))));
      const parts = [2.07, 0.24, 0.19, 0.12].map((part) => (100 * part) / 2.62);
      for (const [at, width] of parts.entries()) expect(widths[at]).toBeCloseTo(width, 6);
      await key.click();
      expect(await page.getByLabel("Search keys").inputValue()).toBe("4fzkq8wpc2rt");
      expect(stage.complaints).toEqual([]);
    });

    test("the time of a request is drawn by call, and a provider's retry-after where it was", async () => {
      const page = await stage.open("#/decisions/req_waited", {
        "GET /v1/decisions/*": { body: WAITED },
      });
      const lines = page
        .getByRole("list", { name: "Where the time went" })
        .locator("li:not(.axis)");
      await expect.poll(() => lines.count()).toBe(4);
      expect(await lines.allTextContents()).toEqual([
        "router2\u00A0ms",
        "gpt-5-eu: rate limited212\u00A0ms",
        "retry-after of gpt-5-eu20.0\u00A0s",
        "gpt-5-eu1.6\u00A0s",
      ]);
      await page
        .getByText(
          "gpt-5-eu answered after 1 failed call (gpt-5-eu: rate limited) and 20.0\u00A0s of waiting for retry-after.",
        )
        .waitFor();
      await page.getByText("First byte, from arrival").waitFor();
      const pause = lines.nth(2).locator("rect.waiting");
      expect(Number(await pause.getAttribute("x"))).toBeCloseTo((100 * 214) / 21_900, 6);
      expect(Number(await pause.getAttribute("width"))).toBeCloseTo((100 * 20_002) / 21_900, 6);
    });

    test("a line of the list names the limit that refused its request", async () => {
      const { limit, reason, outcome } = REFUSED;
      const line = decisionLine(0, { limit, reason, outcome, endpoint: null, attempts: 0 });
      const page = await stage.open("#/decisions", {
        "GET /v1/decisions": { body: { ...decisionList(0), data: [line] } },
      });
      const cell = page.getByRole("cell", { name: "exceeds_remaining_budget" });
      expect(await cell.textContent()).toBe("exceeds_remaining_budget $ per day of the key");
    });

    test("an older record without the start of its calls shows its waiting time at the end", async () => {
      const calls = WAITED.calls.map((each) => ({ ...each, start_ms: null }));
      const page = await stage.open("#/decisions/req_waited", {
        "GET /v1/decisions/*": { body: { ...WAITED, calls } },
      });
      const last = page
        .getByRole("list", { name: "Where the time went" })
        .locator("li:not(.axis)")
        .last();
      await expect.poll(() => last.textContent()).toBe("waiting, in all20.1\u00A0s");
    });

    test("a decision shows why each candidate was chosen or skipped, and the rule", async () => {
      const path = `GET /v1/decisions/${DECISION.id}/explanation`;
      const answers: Answers = {
        [path]: { body: EXPLANATION },
        "GET /v1/decisions/*": decisionOf,
        "GET /v1/policies/eu-residency/content": {
          body: {
            ...content(null),
            sources: [
              {
                package: "signalbox.lib.a",
                source: "package signalbox.lib.a\n\npass.processed_in_eu if true\n",
              },
              { package: "signalbox.policy.eu_residency", source: RULE },
            ],
          },
        },
      };
      const page = await stage.open(`#/decisions/${DECISION.id}`, answers);
      const passed = page.locator("tbody tr").filter({ hasText: "deepseek-chat" });
      await passed.waitFor();
      expect(await passed.textContent()).toContain(
        "passed overeu-residency/processed_in_eu REGION_OUTSIDE_EU",
      );
      await page.getByText("with the same result").waitFor();
      await page.getByText("The rule eu-residency/processed_in_eu").click();
      const rule = page.getByRole("region", { name: "Rule processed_in_eu" });
      await expect
        .poll(() => rule.locator("div").allTextContents())
        .toEqual([
          "3pass.processed_in_eu if {",
          "4\tinput.x",
          "5}",
          '9pass["processed_in_eu"] if true',
        ]);
      await page.getByText("eu-residency.rego:3").waitFor();
      const other = await stage.open(`#/decisions/${DECISION.id}`, {
        ...answers,
        [path]: { body: { ...EXPLANATION, same_table: false, same_result: false } },
      });
      await other.getByText("The routing table changed since the decision.").waitFor();
      // What the table of now says is not what happened: it is apart, and shown on request.
      const happened = other
        .getByRole("region", { name: "Candidates and attempts", exact: true })
        .last();
      expect(await happened.textContent()).not.toContain("deepseek-chat");
      expect(await other.getByText("deepseek-chat").first().isVisible()).toBe(false);
      await other.getByText("How the same request would be decided now").click();
      await other.getByText("deepseek-chat").first().waitFor();
      expect(stage.complaints).toEqual([]);
    });

    test("times are local, with UTC on hover", async () => {
      const page = await stage.open("#/decisions", LIST);
      const time = page.locator("tbody time").first();
      expect(await time.getAttribute("title")).toBe("2026-11-24 01:58:12 UTC");
      expect(await time.textContent()).toContain("02:58:12");
    });

    test("an empty list shows the next step, a failure its message, and an older server the missing part", async () => {
      const empty = await stage.open("#/decisions", {
        "GET /v1/decisions": { body: { ...decisionList(0) } },
      });
      await empty.getByText("No decisions yet").waitFor();
      expect(await empty.getByRole("navigation", { name: "Pages of decisions" }).count()).toBe(0);
      const failing = await stage.open("#/decisions", {
        "GET /v1/decisions": fault(503, "store_unavailable", "The store does not answer."),
      });
      await failing.getByRole("alert").waitFor();
      const message = await failing.getByRole("alert").textContent();
      expect(message).toContain("The store does not answer.");
      expect(message).toContain("req_fake");
      const older = await stage.open("#/decisions", {});
      await older.getByText("Not available on this server").waitFor();
      const missing = await stage.open("#/decisions/req_2", {
        "GET /v1/decisions/*": fault(404, "decision_not_found", "No such decision."),
      });
      await missing.getByText("There is no such decision here").waitFor();
    });

    test("a session that has ended shows the sign-in with the reason", async () => {
      let ended = false;
      const page = await stage.open("#/decisions", {
        ...LIST,
        "GET /console/session": () => ({
          body: ended ? { signed_in: false, sign_in: { key: true, oidc: null } } : SIGNED_IN,
        }),
        "GET /v1/decisions/*": () => {
          ended = true;
          return fault(401, "session_ended", "The session has ended; sign in again.");
        },
      });
      await page.locator("tbody a").first().click();
      await page.getByRole("heading", { name: "Sign in to Signalbox" }).waitFor();
      expect(await page.getByRole("status").textContent()).toContain("The session has ended");
    });

    test("all workspaces are read together unless the address names one, which links keep", async () => {
      const page = await stage.open("#/decisions", {
        ...LIST,
        "GET /v1/decisions/*": decisionOf,
        ...KEYS,
      });
      await page.getByRole("columnheader", { name: "Workspace" }).waitFor();
      const lastOf = (path: string) =>
        stage.server.requests.findLast((request) => request.path === path);
      expect(lastOf("/v1/decisions")?.query.get("workspaces")).toBe("all");
      await page.locator("tbody a").first().click();
      await page.getByRole("heading", { name: "Candidates and attempts" }).waitFor();
      // The explanation is requested beside the decision, and may arrive after the heading is
      // shown.
      await expect
        .poll(() =>
          stage.server.requests
            .filter(({ path }) => path.startsWith("/v1/decisions/"))
            .map(({ query }) => query.get("workspaces")),
        )
        .toEqual(["all", "all"]);
      await page.getByRole("link", { name: "Keys", exact: true }).click();
      await page.getByText("1 key, page 1").waitFor();
      expect(lastOf("/v1/keys")?.query.get("workspaces")).toBe("all");
      await page.getByLabel("Workspace").selectOption("support");
      await expect.poll(() => page.url()).toContain("#/keys?workspace=support");
      await page.getByRole("link", { name: "Policies", exact: true }).click();
      await expect.poll(() => page.url()).toContain("#/policies?workspace=support");
      // A choice would change nothing there: policies are everybody's.
      await expect.poll(() => page.getByLabel("Workspace").count()).toBe(0);
      await page.getByRole("link", { name: "Spend", exact: true }).click();
      expect(await page.getByLabel("Workspace").inputValue()).toBe("support");
      expect(stage.complaints).toEqual([]);
    });

    test("another workspace is named to the API, and shows the roles that the person has there", async () => {
      const page = await stage.open("#/decisions", {
        ...LIST,
        "GET /console/session": ({ headers }) => ({
          body:
            headers["x-signalbox-workspace"] === "support"
              ? {
                  ...SIGNED_IN,
                  workspace: "support",
                  roles: ["viewer"],
                  scopes: ["governance:read"],
                }
              : SIGNED_IN,
        }),
      });
      await page.getByLabel("Workspace").selectOption("support");
      await expect
        .poll(() => stage.server.requests.at(-1)?.headers["x-signalbox-workspace"])
        .toBe("support");
      await page.getByText("viewer").waitFor();
      expect(await page.getByRole("link", { name: "Keys", exact: true }).count()).toBe(0);
    });

    test("a hidden page does not poll", async () => {
      const page = await stage.open("#/decisions", {
        "GET /v1/decisions": { body: { ...decisionList(1), data: [decisionLine(0)] } },
      });
      await page.getByRole("table").waitFor();
      await page.clock.install();
      await page.reload();
      await page.getByRole("table").waitFor();
      const first = stage.server.requests.length;
      await page.evaluate(
        "Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true })",
      );
      await page.clock.runFor(60_000);
      expect(stage.server.requests.length).toBe(first);
      await page.evaluate(
        "delete document.visibilityState; document.dispatchEvent(new Event('visibilitychange'))",
      );
      await expect.poll(() => stage.server.requests.length).toBe(first + 1);
    });
  },
);
