import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { content, POLICIES, POLICY, READY, SHADOW, TRANSITIONS } from "./answers/policies.ts";
import { SIGNED_IN } from "./answers/session.ts";
import { CHROMIUM, openStage, WITHOUT, type Stage } from "./browser.ts";
import { fault, type Answers, type FakeRequest } from "./fake-server.ts";

const ETAG = { etag: POLICY.etag };
const READS: Answers = {
  "GET /v1/policies": { body: POLICIES },
  "GET /v1/policies/tool-approval": { body: READY, headers: ETAG },
  "GET /v1/policies/tool-approval/shadow": { body: SHADOW },
  "GET /v1/policies/tool-approval/content": ({ query }) => ({ body: content(query.get("digest")) }),
  "GET /v1/policies/tool-approval/transitions": { body: TRANSITIONS },
};

describe.skipIf(CHROMIUM === null)(
  `policies in the console${WITHOUT}`,
  { timeout: 120_000 },
  () => {
    let stage: Stage;
    beforeAll(async () => {
      stage = await openStage();
    }, 120_000);
    afterAll(() => stage.close(), 120_000);

    test("the list begins with policies that wait for a person", async () => {
      const page = await stage.open("#/policies", READS);
      await page.getByRole("table").waitFor();
      const ids = await page.locator("tbody tr td:first-child a").allTextContents();
      expect(ids).toEqual([
        "tool-approval",
        "structured-output-parity",
        "eu-residency",
        "data-retention",
      ]);
      expect(stage.complaints).toEqual([]);
    });

    test("a policy shows its missing requirements, its would-be denials, its diff and its history", async () => {
      const page = await stage.open("#/policies/tool-approval", {
        ...READS,
        "GET /v1/policies/tool-approval": { body: POLICY, headers: ETAG },
      });
      await page.getByText("2 approvals of this content (1 count)").waitFor();
      await page.getByText("3d in shadow (2d 16h so far)").waitFor();
      await page
        .getByText(
          /Found in the newest 12,840 decisions, back to .*: all evidence of its time in shadow\./,
        )
        .waitFor();
      await page.getByText("TOOLS_NOT_APPROVED").first().waitFor();
      await expect.poll(() => page.locator(".difference .added").count()).toBe(1);
      expect(await page.locator(".difference .added").textContent()).toContain(
        'input.key.workload == "assistant"',
      );
      const newest = page.getByRole("region", { name: "History" }).locator("tbody tr").first();
      expect(await newest.textContent()).toContain("approved");
      expect(stage.complaints).toEqual([]);
    });

    test("Promote is the main button only if the candidate is ready and known to deny nothing new", async () => {
      const opened = async (policy: object, shadow: Answers[string]) => {
        const page = await stage.open("#/policies/tool-approval", {
          ...READS,
          "GET /v1/policies/tool-approval": { body: policy, headers: ETAG },
          "GET /v1/policies/tool-approval/shadow": shadow,
        });
        await page.getByRole("heading", { name: "History" }).waitFor();
        await expect.poll(() => page.locator(".placeholder").count()).toBe(0);
        const isMain = (await page.locator("button.primary").allTextContents()).includes("Promote");
        return { page, isMain };
      };
      const harmless = { body: { ...SHADOW, newly_denied: 0 } };
      expect((await opened(READY, harmless)).isMain).toBe(true);
      expect((await opened(POLICY, harmless)).isMain).toBe(false);
      expect((await opened(READY, fault(503, "busy", "Busy."))).isMain).toBe(false);
      const lacking = await opened(POLICY, { body: SHADOW });
      const disabled = lacking.page.getByRole("button", { name: "Promote" });
      expect(await disabled.isDisabled()).toBe(true);
      expect(await disabled.getAttribute("title")).toContain("2 approvals of this content");
      const { page, isMain } = await opened(READY, { body: SHADOW });
      expect(isMain).toBe(false);
      await page.getByText("would deny requests").waitFor();
      await page.getByRole("button", { name: "Promote" }).click();
      await page.getByRole("dialog").getByText("37 requests").waitFor();
    });

    test("Approve is disabled with the reason beside it if only another person's approval counts", async () => {
      const page = await stage.open("#/policies/tool-approval", {
        ...READS,
        "GET /v1/policies/tool-approval": { body: POLICY, headers: ETAG },
      });
      const approve = page.getByRole("button", { name: "Approve", exact: true });
      await approve.waitFor();
      expect(await approve.isDisabled()).toBe(true);
      await page.getByText("another person has to, too").waitFor();
    });

    test("a promotion names both revisions and the state that was seen", async () => {
      const sent: FakeRequest[] = [];
      const page = await stage.open("#/policies/tool-approval", {
        ...READS,
        "POST /v1/policies/tool-approval/promotions": (request) => {
          sent.push(request);
          return { body: POLICY };
        },
      });
      await page.getByRole("button", { name: "Promote" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Promote" }).click();
      await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
      expect(sent[0]?.body).toEqual({
        expected: { candidate_revision: "r3", enforced_revision: "r2" },
      });
      expect(sent[0]?.headers["if-match"]).toBe(POLICY.etag);
      expect(sent[0]?.headers["x-signalbox-csrf"]).toBe(SIGNED_IN.csrf);
    });

    test("a promotion after another person's change shows that change and does nothing", async () => {
      let raced = false;
      const page = await stage.open("#/policies/tool-approval", {
        ...READS,
        "GET /v1/policies/tool-approval": () =>
          raced
            ? {
                body: {
                  ...READY,
                  state: "enforced",
                  enforced: { ...READY.candidate, revision: "r3" },
                  candidate: null,
                  missing: null,
                },
                headers: { etag: '"other"' },
              }
            : { body: READY, headers: ETAG },
        "POST /v1/policies/tool-approval/promotions": () => {
          raced = true;
          return fault(412, "policy_changed", "The policy has changed since it was read.");
        },
      });
      await page.getByRole("button", { name: "Promote" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Promote" }).click();
      await page.getByRole("heading", { name: "The policy has changed meanwhile" }).waitFor();
      const rows = await page.getByRole("dialog").locator("tbody tr").allTextContents();
      expect(rows).toContain("Enforced revisionr2r3");
      expect(rows).toContain("Candidate revisionr3none");
      await page.getByRole("button", { name: "Show it as it is now" }).click();
      await expect.poll(() => page.getByRole("button", { name: "Promote" }).count()).toBe(0);
      expect(stage.server.requests.filter(({ method }) => method === "POST")).toHaveLength(1);
    });

    test("a rollback is sent with its reason; a withdrawal names the content", async () => {
      const sent: unknown[] = [];
      const page = await stage.open("#/policies/tool-approval", {
        ...READS,
        "POST /v1/policies/*": ({ path, body }) => {
          sent.push([path.split("/").at(-1), body]);
          return { body: POLICY };
        },
      });
      await page.getByRole("button", { name: "Roll back to r1" }).click();
      await page.getByLabel("Reason, for the log").selectOption("latency");
      await page.getByRole("dialog").getByRole("button", { name: "Roll back to r1" }).click();
      await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
      await page.getByRole("button", { name: "Withdraw my approval" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Withdraw" }).click();
      await expect.poll(() => sent.length).toBe(2);
      expect(sent).toEqual([
        ["rollbacks", { expected: { enforced_revision: "r2" }, reason: "latency" }],
        ["withdrawals", { what: "approval", digest: READY.candidate?.digest }],
      ]);
    });

    test("an approval has the digest of the server's report", async () => {
      const sent: unknown[] = [];
      const report = {
        format: "signalbox.simulation.v4",
        head: { table_revision: "b".repeat(64) },
        complete: true,
        promoted: { access: "less_permissive", changed_classes: 12 },
        assertions: { passed: 3, failed: 0, waived: 1 },
      };
      const page = await stage.open("#/policies/tool-approval", {
        ...READS,
        "GET /v1/policies/tool-approval/simulation": { body: report },
        "POST /v1/policies/tool-approval/approvals": ({ body }) => {
          sent.push(body);
          return { body: POLICY };
        },
      });
      await page.getByRole("button", { name: "Approve" }).click();
      await page.getByRole("button", { name: /simulation report/ }).click();
      await page.getByText("less permissive").waitFor();
      await page.getByRole("dialog").getByRole("button", { name: "Approve" }).click();
      await expect.poll(() => sent.length).toBe(1);
      const { createHash } = await import("node:crypto");
      expect(sent[0]).toEqual({
        digest: READY.candidate?.digest,
        report: {
          sha256: createHash("sha256").update(JSON.stringify(report)).digest("hex"),
          table_revision: "b".repeat(64),
          complete: true,
          assertions: { passed: 3, failed: 0, waived: 1 },
        },
      });
    });

    test("a viewer has no button that changes anything, an approver only those of approvals", async () => {
      const inPolicies = (scopes: readonly string[]) => ({
        scopes,
        policies: { workspace: "search", scopes },
      });
      const viewer = { ...SIGNED_IN, roles: ["viewer"], ...inPolicies(["governance:read"]) };
      const page = await stage.open("#/policies/tool-approval", {
        ...READS,
        "GET /console/session": { body: viewer },
      });
      await page.getByRole("heading", { name: "History" }).waitFor();
      const changing = /^(Approve|Promote|Roll back|Withdraw)/;
      expect(await page.getByRole("button", { name: changing }).count()).toBe(0);
      const approver = {
        ...viewer,
        roles: ["approver"],
        ...inPolicies(["governance:read", "policies:approve"]),
      };
      const other = await stage.open("#/policies/tool-approval", {
        ...READS,
        "GET /console/session": { body: approver },
      });
      await other.getByRole("heading", { name: "History" }).waitFor();
      expect(await other.getByRole("button", { name: changing }).allTextContents()).toEqual([
        "Approve",
        "Withdraw my approval",
      ]);
    });

    test("policies are read and changed as the workspace that manages them, and a page without one explains the missing button", async () => {
      const policies = { workspace: "support", scopes: ["governance:read", "operations:manage"] };
      const page = await stage.open("#/policies/tool-approval", {
        ...READS,
        "GET /console/session": { body: { ...SIGNED_IN, scopes: ["governance:read"], policies } },
      });
      await page.getByRole("button", { name: "Promote" }).waitFor();
      const requested = stage.server.requests.filter(({ path }) => path.startsWith("/v1/policies"));
      expect(new Set(requested.map(({ headers }) => headers["x-signalbox-workspace"]))).toEqual(
        new Set(["support"]),
      );
      const other = await stage.open("#/policies/tool-approval", {
        ...READS,
        "GET /console/session": { body: { ...SIGNED_IN, policies: null } },
      });
      await other.getByText("Workspaces of this session do not manage policies").waitFor();
      expect(await other.getByRole("button", { name: /^(Approve|Promote)/ }).count()).toBe(0);
      expect(stage.complaints).toEqual([]);
    });

    test("a server without policies shows how to begin", async () => {
      const page = await stage.open("#/policies", {
        "GET /v1/policies": { body: { ...POLICIES, data: [] } },
      });
      await expect.poll(() => page.getByText("This server has no policies").count()).toBe(1);
    });
  },
);
