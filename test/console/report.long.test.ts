import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HOSTILE, tainted } from "../cli/simulate/html/hostile-report.ts";
import { report } from "../cli/simulate/html/report-fixture.ts";
import { CHROMIUM, openStage, WITHOUT, type Stage } from "./browser.ts";

const fileOf = (value: unknown): { name: string; mimeType: string; buffer: Buffer } => ({
  name: "report.json",
  mimeType: "application/json",
  buffer: Buffer.from(typeof value === "string" ? value : JSON.stringify(value)),
});

describe.skipIf(CHROMIUM === null)(
  `simulation reports in the console${WITHOUT}`,
  { timeout: 120_000 },
  () => {
    let stage: Stage;
    beforeAll(async () => {
      stage = await openStage();
    }, 120_000);
    afterAll(() => stage.close(), 120_000);

    test("a report is shown as the HTML report shows it, and can be filtered", async () => {
      const page = await stage.open("#/report", {});
      await page.getByText("An artefact of CI").waitFor();
      await page.getByLabel("report.json").setInputFiles(fileOf(report()));
      await expect
        .poll(() => page.locator(".block:visible").count())
        .toBe(report().declared.groups.length);
      await page.getByRole("searchbox").fill("length_not");
      await expect.poll(() => page.locator(".block:visible").count()).toBe(1);
      await page.getByText("As if promoted").first().click();
      await expect.poll(() => page.locator(".panel.declared:visible").count()).toBe(0);
      await page.getByRole("link", { name: "Assertions" }).first().click();
      expect(page.url()).toContain("#/report");
      expect(stage.complaints).toEqual([]);
      expect(stage.server.requests).toEqual([]);
    });

    test("an open report folds the upload, has its failure in red, and keeps the names in a table whole at 390 pixels", async () => {
      const page = await stage.open("#/report", {}, { width: 390 });
      const upload = page.getByLabel("report.json");
      await upload.waitFor();
      await upload.setInputFiles(fileOf(report()));
      const title = page.getByRole("heading", { name: /^FAIL / });
      await title.waitFor();
      await expect.poll(() => upload.isVisible()).toBe(false);
      const red = await page.evaluate<string>(
        "(() => { const e = document.createElement('i'); e.style.color = 'var(--stop)'; document.body.append(e); return getComputedStyle(e).color; })()",
      );
      const styleOf = (selector: string, name: string): Promise<string> =>
        page.evaluate<string>(
          `getComputedStyle(document.querySelector(".report").shadowRoot.querySelector("${selector}")).${name}`,
        );
      expect(await styleOf("h2.fail", "color")).toBe(red);
      expect(await styleOf("tbody td", "overflowWrap")).toBe("normal");
      expect(
        await page.evaluate<number>("document.documentElement.scrollWidth"),
      ).toBeLessThanOrEqual(390);
      await page.getByText("Another file").click();
      await upload.waitFor();
    });

    test("hostile names in a report execute no script and add no element", async () => {
      const page = await stage.open("#/report", {});
      await page
        .getByLabel("report.json")
        .setInputFiles(fileOf({ ...tainted(report(), HOSTILE.join("")), format: report().format }));
      await expect.poll(() => page.locator(".block").count()).toBeGreaterThan(0);
      // One is the console itself.
      expect(await page.locator("script, img, iframe").count()).toBe(1);
      expect(stage.complaints).toEqual([]);
    });

    test("a number that is markup in a made-up report is shown as text", async () => {
      const page = await stage.open("#/report", {});
      const made = JSON.stringify(report()).replace(
        /"classes":\d+/g,
        '"classes":"<img src=x onerror=alert(1)>"',
      );
      await page.getByLabel("report.json").setInputFiles(fileOf(made));
      await page.getByText("Shown below").or(page.getByRole("alert")).first().waitFor();
      expect(await page.locator("img").count()).toBe(0);
      expect(stage.complaints).toEqual([]);
    });

    test.each([
      ["no JSON", "{", "The file is not JSON"],
      ["another version", { format: "signalbox.simulation.v2" }, "another version"],
      ["another file", { hello: 1 }, "no simulation report"],
      ["a damaged report", { format: "signalbox.simulation.v4" }, "damaged"],
    ])("%s is refused with the fix", async (_, content, message) => {
      const page = await stage.open("#/report", {});
      await page.getByLabel("report.json").setInputFiles(fileOf(content));
      await page.getByRole("alert").waitFor();
      expect(await page.getByRole("alert").textContent()).toContain(message);
    });
  },
);
