import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { chromium, type Browser, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { buildConsole } from "../../tools/console/bundle.ts";
import type { Scope } from "../../src/canon/identity.ts";
import type { RunningServer } from "../../src/server/running-server.ts";
import { ask, startConsole } from "../http/console/support.ts";
import { policySource } from "../policy/samples.ts";
import { addKey, writeFixture } from "../running/running-server.ts";
import { SpawnedServer } from "../running/spawned-server.ts";
import { ROOT } from "../support/imports.ts";
import { CHROMIUM, WITHOUT } from "./browser.ts";

const SCOPES: readonly Scope[] = [
  "governance:read",
  "operations:manage",
  "policies:approve",
  "spend:read",
];

describe.skipIf(CHROMIUM === null)(
  `the console over faults that happen${WITHOUT}`,
  { timeout: 180_000 },
  () => {
    let browser: Browser;
    beforeAll(async () => {
      // Where a server that runs from the sources reads it.
      await buildConsole(join(ROOT, "console/dist"));
      const args = ["--headless", "--no-sandbox", "--disable-gpu"];
      browser = await chromium.launch({ executablePath: CHROMIUM ?? "", args });
    }, 120_000);
    afterAll(() => browser.close(), 120_000);

    /** A person with cookies of their own. */
    async function person(server: RunningServer, origin: string): Promise<Page> {
      const context = await browser.newContext();
      onTestFinished(() => context.close());
      const page = await context.newPage();
      await signIn(page, server, origin);
      return page;
    }

    async function signIn(page: Page, server: RunningServer, origin: string): Promise<void> {
      const { text } = await addKey(server.store, "large", SCOPES);
      await page.goto(`${origin}/console/`);
      await page.getByLabel("Service key").fill(text);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("heading", { name: "Overview" }).waitFor();
    }

    test("of two approvers who promote at once the second sees the first one's change, and overwrites nothing", async () => {
      const fixture = writeFixture("http://127.0.0.1:9", (value) => ({
        ...value,
        policies: { managed_by: ["large"] },
      }));
      mkdirSync(join(fixture.folder, "policies"));
      const gate = policySource(
        "gate",
        { open: "{effect: gate, reasons: [CLOSED]}" },
        "pass.open if input.workspace.id",
      );
      writeFileSync(join(fixture.folder, gate.path), gate.text);
      const { server, origin } = await startConsole({}, fixture);
      const [first, second] = [await person(server, origin), await person(server, origin)];
      for (const page of [first, second]) {
        await page.goto(`${origin}/console/#/policies/gate`);
        await page.getByRole("button", { name: "Promote" }).click();
        await page.getByRole("dialog").waitFor();
      }
      await first.getByRole("dialog").getByRole("button", { name: "Promote" }).click();
      await expect.poll(() => first.getByRole("dialog").count()).toBe(0);
      await second.getByRole("dialog").getByRole("button", { name: "Promote" }).click();
      await second.getByRole("heading", { name: "The policy has changed meanwhile" }).waitFor();
      const rows = await second.getByRole("dialog").locator("tbody tr").allTextContents();
      expect(rows).toContain("Enforced revisionnoner1");
      expect(rows).toContain("Candidate revisionr1none");
      await second.getByRole("button", { name: "Show it as it is now" }).click();
      await expect.poll(() => second.getByRole("button", { name: "Promote" }).count()).toBe(0);
      const log = await server.store.policyLog.read({ after: 0, limit: 100 });
      expect(log.filter(({ record }) => record.includes('"promoted"'))).toHaveLength(1);
    });

    test("a sign-out at one replica ends the session at the other, and a replica that is killed is lost", async () => {
      const { fixture, server, origin } = await startConsole();
      const other = await SpawnedServer.start(fixture, ["--console", "admin", "--no-watch"]);
      const page = await person(server, origin);
      // Cookies do not distinguish ports: the browser has one session at both.
      await page.goto(`${other.adminUrl}/console/`);
      await page.getByRole("heading", { name: "Overview" }).waitFor();
      const [session] = await page.context().cookies();
      const cookie = `${session?.name}=${session?.value}`;
      const { csrf } = (await ask(`${origin}/console/session`, { headers: { cookie } })).json;
      const create = (headers: Readonly<Record<string, string>>) =>
        page.evaluate(
          async (given) => {
            const body = JSON.stringify({
              owner: "group:x",
              scopes: ["governance:read"],
              expires_in: 3_600,
            });
            const answer = await fetch("/v1/keys", { method: "POST", headers: given, body });
            return answer.status;
          },
          { "content-type": "application/json", ...headers },
        );
      expect(await create({})).toBe(403);
      expect(await create({ "x-signalbox-csrf": `${csrf.slice(0, -1)}_` })).toBe(403);
      expect(await create({ "x-signalbox-csrf": csrf })).toBe(200);

      const elsewhere = await page.context().newPage();
      await elsewhere.goto(`${origin}/console/`);
      await elsewhere.getByRole("button", { name: "Sign out" }).click();
      await elsewhere.getByLabel("Service key").waitFor();
      const kept = () => ask(`${other.adminUrl}/v1/health`, { headers: { cookie } });
      await expect.poll(async () => (await kept()).json.error?.code).toBe("session_ended");
      await page.getByLabel("Service key").waitFor();

      await signIn(elsewhere, server, origin);
      const replicas = elsewhere.getByRole("region", {
        name: "Processes that write the shared store",
      });
      await expect.poll(() => replicas.getByText("running").count()).toBe(2);
      other.child.kill("SIGKILL");
      const attention = elsewhere.getByRole("region", { name: "Needs attention" });
      await expect
        .poll(() => attention.textContent(), { timeout: 90_000 })
        .toContain("ended without closing");
      await expect.poll(() => replicas.getByText("lost").count()).toBe(1);
    });

    test("a store that accepts no records is reported only while it does not", async () => {
      const { fixture, server, origin } = await startConsole();
      const page = await person(server, origin);
      const attention = page.getByRole("region", { name: "Needs attention" });
      const lock = new DatabaseSync(fixture.database, { timeout: 10_000 });
      onTestFinished(() => lock.close());
      lock.exec("BEGIN IMMEDIATE");
      await attention
        .getByText("evidence store does not take records")
        .waitFor({ timeout: 60_000 });
      await page.getByRole("alert").first().waitFor({ timeout: 60_000 });
      lock.exec("ROLLBACK");
      await expect
        .poll(() => attention.textContent(), { timeout: 60_000 })
        .not.toContain("does not take records");
      await expect.poll(() => page.getByRole("alert").count(), { timeout: 60_000 }).toBe(0);
    });
  },
);
