// `npm run tool -- screenshots`: the pictures of docs/console.md, with made-up answers. With a
// folder: every page there, in both themes and three widths: `full` of made-up answers, `empty`,
// `real` of a demo with its traffic, `fresh` without; names after the folder choose. Needs
// Chromium.
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Page } from "playwright-core";
import { ALL, EMPTY, PAGES } from "../../test/console/answers/all.ts";
import { report } from "../../test/cli/simulate/html/report-fixture.ts";
import { openStage } from "../../test/console/browser.ts";
import { startDemo } from "./demo.ts";

const IMAGES = resolve(import.meta.dirname, "../../docs/images");

/** Name, address, width and theme; pixels. */
const PICTURES = [
  ["overview", "#/", 1280, 1000, false],
  ["decision", "#/decisions/req_01a20b4bce6f69705078dac708bbe749", 1280, 900, true],
  ["policy", "#/policies/tool-approval", 1280, 1100, false],
  ["spend", "#/spend", 768, 760, true],
  ["routes", "#/routes", 1280, 720, false],
  ["keys", "#/keys", 360, 640, false],
] as const;

/** A file for the page of reports. */
const REPORT = {
  name: "report.json",
  mimeType: "application/json",
  buffer: Buffer.from(JSON.stringify(report())),
};

/** Both themes in three widths, of one page after the other. */
async function takeEach(
  to: string,
  name: string,
  page: Page,
  pages: readonly (readonly [name: string, address: string])[],
): Promise<void> {
  for (const [title, address] of pages) {
    await page.goto(address);
    if (title === "report-open") await page.getByLabel("report.json").setInputFiles(REPORT);
    await page.locator(".drawing", { hasText: "loading" }).waitFor({ state: "detached" });
    await page.locator(".placeholder").first().waitFor({ state: "detached" });
    for (const width of [1440, 900, 390]) {
      await page.setViewportSize({ width, height: 900 });
      // Parts of a report that are out of sight would not be drawn.
      await page.evaluate(
        `for (const each of document.querySelector(".report")?.shadowRoot?.querySelectorAll(".block, .path") ?? [])
          each.style.contentVisibility = "visible";`,
      );
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
        await page.waitForLoadState("networkidle");
        // Charts are drawn anew for a width.
        await page.waitForTimeout(150);
        const file = `${name}-${title}-${width}-${colorScheme}.png`;
        await page.screenshot({ path: join(to, file), fullPage: true, animations: "disabled" });
      }
    }
  }
}

/** Of a real server; the decisions are the newest of their kind. */
const REAL_PAGES = [
  ["overview", "#/"],
  ["overview-24h", "#/?window=24h"],
  ["decisions", "#/decisions"],
  ["policies", "#/policies"],
  ["policy", "#/policies/tool-approval"],
  ["spend", "#/spend"],
  ["routes", "#/routes"],
  ["routes-one", "#/routes?workspace=demo"],
  ["connect", "#/connect"],
  ["report", "#/report"],
  ["keys", "#/keys"],
] as const;

const KINDS = [
  ["answered", "terminal=completed"],
  ["refused", "outcome=refuse"],
  ["denied", "outcome=deny"],
] as const;

async function takeAll(to: string, sets: readonly string[]): Promise<void> {
  mkdirSync(to, { recursive: true });
  const stage = await openStage();
  for (const [name, answers] of [["full", ALL] as const, ["empty", EMPTY] as const]) {
    if (!sets.includes(name)) continue;
    const page = await stage.open("#/", answers, { now: "2026-11-24T02:00:00Z" });
    const named = [...PAGES, ["report-open", "#/report"]] as const;
    const pages = named.map(([title, hash]) => [title, `${stage.origin}/console/${hash}`] as const);
    await takeEach(to, name, page, pages);
  }
  await stage.close();
  for (const [name, traffic] of [["real", true] as const, ["fresh", false] as const]) {
    if (!sets.includes(name)) continue;
    const { page, console, close } = await startDemo(traffic);
    try {
      const pages = REAL_PAGES.map(([title, hash]) => [title, `${console}${hash}`] as const);
      await takeEach(to, name, page, pages);
      for (const [kind, query] of traffic ? KINDS : []) {
        await page.goto(`${console}#/decisions?${query}`);
        const first = page.locator("tbody a").first();
        await first.waitFor();
        const hash = await first.getAttribute("href");
        await takeEach(to, name, page, [[`decision-${kind}`, `${console}${hash}`]]);
      }
    } finally {
      await close();
    }
  }
}

async function takeDocumented(): Promise<void> {
  const stage = await openStage();
  for (const [name, hash, width, height, dark] of PICTURES) {
    const page = await stage.open(hash, ALL, { width, height, dark, now: "2026-11-24T02:00:00Z" });
    await page.waitForLoadState("networkidle");
    await page.screenshot({ path: join(IMAGES, `console-${name}.png`), animations: "disabled" });
    if (stage.complaints.length > 0) throw new Error(stage.complaints.join("; "));
  }
  await stage.close();
}

const [folder, ...wanted] = process.argv.slice(2).filter((each) => !each.startsWith("-"));
if (folder === undefined) await takeDocumented();
else await takeAll(folder, wanted.length === 0 ? ["full", "empty", "real", "fresh"] : wanted);
