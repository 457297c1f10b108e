import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ALL } from "./answers/all.ts";
import { NO_TRAFFIC } from "./answers/figures.ts";
import { CHROMIUM, openStage, WITHOUT, type Stage } from "./browser.ts";

describe.skipIf(CHROMIUM === null)(`connecting clients${WITHOUT}`, { timeout: 120_000 }, () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage();
  }, 120_000);
  afterAll(() => stage.close(), 120_000);

  test("a chosen client and route are in the address, and its text has base URL, route and key", async () => {
    const page = await stage.open("#/connect", ALL);
    await page.getByRole("button", { name: "Codex" }).click();
    await page.getByRole("combobox", { name: "Route of search" }).selectOption("chat-large-eu");
    await page.reload();
    const text = await page
      .getByRole("region", { name: "Coding agents" })
      .locator("pre")
      .textContent();
    expect(text).toContain('model = "chat-large-eu"');
    expect(text).toContain(`base_url = "${stage.origin}/v1"`);
    expect(text).toContain('env_key = "SIGNALBOX_KEY"');
    expect(stage.complaints).toEqual([]);
  });

  test("the copied text is the shown one", async () => {
    const page = await stage.open("#/connect", ALL);
    const panel = page.getByRole("region", { name: "Frameworks" });
    await panel.getByRole("button", { name: "Vercel AI SDK" }).click();
    await panel.getByRole("button", { name: "Copy" }).click();
    const copied = await page.evaluate<string>("navigator.clipboard.readText()");
    expect(copied).toBe(await panel.locator("pre").textContent());
  });

  test("an overview without any request has the command for a first one, with a route", async () => {
    const page = await stage.open("#/", {
      ...ALL,
      "GET /v1/governance/summary": { body: NO_TRAFFIC },
    });
    await page.getByRole("heading", { name: "No request yet" }).waitFor();
    await expect.poll(() => page.locator("pre").textContent()).toContain('"model": "chat-large"');
  });
});
