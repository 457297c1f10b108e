import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { inflateSync } from "node:zlib";
import { chromium, type BrowserContext, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { FORMATS } from "../../../../src/cli/simulate/formats/formats.ts";
import { DARK, LIGHT } from "../../../../src/cli/simulate/formats/html/style.ts";
import { explainCommand } from "../../../../src/simulate/explain/explain-arguments.ts";
import type { SimulationReport } from "../../../../src/simulate/report/report.ts";
import { programAtHand } from "../../../support/at-hand.ts";
import { HOSTILE, tainted } from "./hostile-report.ts";
import { EXPLAIN, largeReport, report } from "./report-fixture.ts";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const executable =
  process.env.CHROMIUM ??
  NAMES.map((name) => programAtHand(name)).find((path) => path !== null) ??
  null;
const FLAGS =
  "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync";
const reason = executable === null ? " (skipped: no Chromium here; CHROMIUM may name one)" : "";

describe.skipIf(executable === null)(`the page in Chromium${reason}`, { timeout: 120_000 }, () => {
  let folder = "";
  const context: { browser?: BrowserContext; page?: Page } = {};
  let complaints: string[] = [];
  let requests: string[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "signalbox-page-"));
    context.browser = await chromium.launchPersistentContext(join(folder, "profile"), {
      executablePath: executable ?? "",
      args: FLAGS.split(" "),
      viewport: { width: 1280, height: 900 },
      permissions: ["clipboard-read", "clipboard-write"],
    });
  }, 120_000);

  afterAll(async () => {
    await context.browser?.close();
    rmSync(folder, { recursive: true, force: true });
  }, 120_000);

  const pageOf = (): Page => {
    if (context.page === undefined) throw new Error("no page");
    return context.page;
  };

  beforeEach(async () => {
    complaints = [];
    requests = [];
    if (context.browser === undefined) throw new Error("no browser");
    const page = await context.browser.newPage();
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("request", (request) => requests.push(request.url()));
    context.page = page;
  });

  afterEach(async () => {
    await context.page?.close();
    const strange = requests.filter(
      (url) => !url.startsWith("file:") || !url.split("#")[0]?.endsWith("/report.html"),
    );
    if (complaints.length > 0) throw new Error(`the browser complains: ${complaints.join("; ")}`);
    if (strange.length > 0) throw new Error(`the page requests ${strange.join(" ")}`);
  });

  /** Opens a report as a file from a folder, as a reader of an artefact does. */
  async function open(value: SimulationReport, fragment = ""): Promise<Page> {
    const path = join(folder, "report.html");
    writeFileSync(
      path,
      FORMATS.html(value, { colour: false, width: 80, reportDigest: "ab".repeat(32) }),
    );
    await pageOf().goto(pathToFileURL(path).href + fragment);
    return pageOf();
  }

  const shownChanges = (page: Page): Promise<number> => page.locator(".block:visible").count();

  test("filters by any facet and by text, counts, and keeps the filter in the address", async () => {
    const page = await open(report());
    await expect.poll(() => page.locator("#filter-count").textContent()).toBe("4 changes");
    await page.locator("#filter-change").selectOption("newly_denied");
    expect(await shownChanges(page)).toBe(1);
    expect(await page.locator("#filter-count").textContent()).toBe("1 of 4 changes");
    expect(new URL(page.url()).hash).toBe("#tab=declared&change=newly_denied");
    expect(await page.locator("#filter-route option").allTextContents()).toContain("chat-fast (0)");

    await page.getByRole("button", { name: "Clear" }).click();
    expect(await shownChanges(page)).toBe(4);
    await page.getByRole("searchbox").fill("Length_Not");
    await expect.poll(() => shownChanges(page)).toBe(1);
    expect(new URL(page.url()).hash).toBe("#tab=declared&q=Length_Not");

    await page.reload();
    expect(await page.getByRole("searchbox").inputValue()).toBe("Length_Not");
    expect(await shownChanges(page)).toBe(1);
    await page.getByRole("searchbox").fill("nothing like this");
    await expect.poll(() => page.locator(".unmatched:visible").count()).toBe(1);
  });

  test("a link carries its filter and its tab; a kind of change is a link", async () => {
    const page = await open(report(), "#tab=declared&provider=anthropic-global");
    expect(await shownChanges(page)).toBe(1);
    expect(await page.locator(".path:visible").count()).toBe(2);
    await page.getByRole("button", { name: "Clear" }).click();
    await page.getByRole("link", { name: "primary changed" }).click();
    await expect.poll(() => shownChanges(page)).toBe(1);
    expect(await page.locator("#filter-change").inputValue()).toBe("primary_changed");
    await page.goto("about:blank");
    requests = [];
    await open(report(), "#promoted-0a1b2c3d4e5f");
    expect(await page.locator("#promoted-0a1b2c3d4e5f").isVisible()).toBe(true);
    expect(await page.locator("#show-promoted").isChecked()).toBe(true);
  });

  test("follows a tab by keyboard", async () => {
    const page = await open(report());
    await page.locator("#show-declared").focus();
    await page.keyboard.press("ArrowRight");
    expect(await page.locator(".panel.promoted").isVisible()).toBe(true);
    expect(await page.locator(".panel.declared").isVisible()).toBe(false);
    expect(new URL(page.url()).hash).toBe("#tab=promoted");
  });

  test("executes no script of a hostile name, and filters by such names", async () => {
    const page = await open(tainted(report(), HOSTILE.join("")));
    page.on("dialog", (dialog) => {
      complaints.push(`dialog ${dialog.message()}`);
      void dialog.dismiss();
    });
    expect(await shownChanges(page)).toBe(report().declared.groups.length);
    expect(await page.locator("script").count()).toBe(1);
    expect(await page.locator("img").count()).toBe(0);
    const names = await page.locator("#filter-route option").allTextContents();
    expect(names.filter((name) => name.includes("chat-fast"))).toHaveLength(1);
    await page
      .locator("#filter-route")
      .selectOption({ index: names.findIndex((name) => name.includes("chat-fast")) });
    expect(await shownChanges(page)).toBe(1);
    await page.reload();
    expect(await shownChanges(page)).toBe(1);
  });

  test("shows every change without script", async () => {
    const session = await pageOf().context().newCDPSession(pageOf());
    await session.send("Emulation.setScriptExecutionDisabled", { value: true });
    const page = await open(report());
    expect(await page.locator("#filter").isVisible()).toBe(false);
    expect(await page.getByRole("button").count()).toBe(0);
    expect(await shownChanges(page)).toBe(report().declared.groups.length);
    await page.getByText("As if promoted").first().click();
    expect(await page.locator(".panel.declared").isVisible()).toBe(false);
    expect(await shownChanges(page)).toBe(report().promoted.groups.length);
    await page.locator(".block:visible summary").first().click();
    expect(await page.locator(".block:visible .command").first().isVisible()).toBe(true);
  });

  test("copies the command of an example", async () => {
    const page = await open(report());
    await page.locator(".block summary").first().click();
    const button = page.locator(".block [data-copy]").first();
    await button.click();
    await expect.poll(() => button.textContent()).toBe("Copied");
    await page.getByRole("searchbox").focus();
    await page.keyboard.press("ControlOrMeta+V");
    expect(await page.getByRole("searchbox").inputValue()).toBe(explainCommand(EXPLAIN));
  });

  test.each([
    ["light", 1280, 900, LIGHT.paper],
    ["dark", 1280, 900, DARK.paper],
    ["light", 390, 844, LIGHT.paper],
    ["dark", 390, 844, DARK.paper],
  ] as const)(
    "has its colours and fits the window: %s, %i wide",
    async (colorScheme, width, height, paper) => {
      const page = await open(report());
      await page.setViewportSize({ width, height });
      await page.emulateMedia({ colorScheme });
      const path = join(folder, `${colorScheme}-${width}.png`);
      await page.screenshot({ path, fullPage: true });
      expect(statSync(path).size).toBeGreaterThan(40_000);
      const corner = await page.screenshot({ clip: { x: 1, y: 1, width: 1, height: 1 } });
      expect(pixelOf(corner)).toBe(paper);
      expect(await page.evaluate<number>("document.documentElement.scrollWidth")).toBe(width);
      for (const part of ["h1", ".verdict >> nth=0", "#filter-q", ".block >> nth=0", "footer"]) {
        const box = await page.locator(part).boundingBox();
        expect(box?.width, part).toBeGreaterThan(60);
        expect((box?.x ?? 0) + (box?.width ?? 0), part).toBeLessThanOrEqual(width);
      }
    },
  );

  test("prints every example and no control", async () => {
    const page = await open(report());
    await page.emulateMedia({ media: "print" });
    expect(await page.locator("#filter").isVisible()).toBe(false);
    expect(await page.locator(".block .command").first().isVisible()).toBe(true);
    expect((await page.pdf()).byteLength).toBeGreaterThan(20_000);
  });

  test("filters five thousand changes without keeping the reader waiting", async () => {
    const page = await open(largeReport(5000));
    const milliseconds = await page.evaluate<number>(`(() => {
      const route = document.getElementById("filter-route");
      const start = performance.now();
      route.value = "route-7";
      route.dispatchEvent(new Event("change"));
      document.body.getBoundingClientRect();
      return performance.now() - start;
    })()`);
    expect(await page.locator("#filter-count").textContent()).toBe("25 of 5,000 changes");
    // Some fifty milliseconds where nothing else runs; the limit is for machines where much does.
    expect(milliseconds).toBeLessThan(5000);
  });
});

/** The colour of a picture of one pixel, `#rrggbb`. */
function pixelOf(png: Buffer): string {
  const parts: Buffer[] = [];
  for (let at = 8; at < png.length;) {
    const length = png.readUInt32BE(at);
    if (png.toString("latin1", at + 4, at + 8) === "IDAT")
      parts.push(png.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  return `#${inflateSync(Buffer.concat(parts)).subarray(1, 4).toString("hex")}`;
}
