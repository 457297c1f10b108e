import { join } from "node:path";
import { chromium, type Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildConsole } from "../../tools/console/bundle.ts";
import { startConsole } from "../http/console/support.ts";
import { addKey } from "../running/running-server.ts";
import { ROOT } from "../support/imports.ts";
import { CHROMIUM, WITHOUT } from "./browser.ts";

describe.skipIf(CHROMIUM === null)(
  `the console of a running server${WITHOUT}`,
  { timeout: 120_000 },
  () => {
    let browser: Browser;
    beforeAll(async () => {
      // Where a server that runs from the sources reads it.
      await buildConsole(join(ROOT, "console/dist"));
      browser = await chromium.launch({
        executablePath: CHROMIUM ?? "",
        args: ["--headless", "--no-sandbox", "--disable-gpu"],
      });
    }, 120_000);
    afterAll(() => browser.close(), 120_000);

    test("a key signs in, every page answers, a key is made and revoked, and the sign-out ends the session", async () => {
      const { server, origin } = await startConsole();
      const { text } = await addKey(server.store, "large", [
        "governance:read",
        "catalogue:read",
        "route:simulate",
        "operations:manage",
        "spend:read",
      ]);
      const page = await browser.newPage();
      const complaints: string[] = [];
      page.on("console", (message) => complaints.push(message.text()));
      page.on("pageerror", (error) => complaints.push(error.message));
      await page.goto(`${origin}/`);
      await page.getByLabel("Service key").fill(text);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("heading", { name: "Overview" }).waitFor();
      for (const hash of [
        "#/",
        "#/decisions",
        "#/policies",
        "#/spend",
        "#/routes",
        "#/report",
        "#/keys",
      ]) {
        await page.goto(`${origin}/console/${hash}`);
        await page.getByRole("heading", { level: 1 }).waitFor();
        await expect.poll(() => page.locator(".placeholder").count()).toBe(0);
        expect(await page.getByRole("alert").allTextContents(), hash).toEqual([]);
      }
      await page.getByRole("button", { name: "Create a key" }).click();
      await page.getByLabel("Owner").fill("group:payments");
      await page.getByRole("button", { name: "Create", exact: true }).click();
      const secret = (await page.locator(".secret").textContent()) ?? "";
      expect(secret).toMatch(/^sbx_/);
      await page.getByRole("button", { name: "I have stored it" }).click();
      const row = page.locator("tbody tr").filter({ hasText: "group:payments" });
      await row.getByRole("button", { name: /^Revoke/ }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
      await expect.poll(() => row.textContent()).toContain("revoked");
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByRole("heading", { name: "Sign in to Signalbox" }).waitFor();
      await page.reload();
      await page.getByLabel("Service key").waitFor();
      expect(complaints).toEqual([]);
    });
  },
);
