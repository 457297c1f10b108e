import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildConsole } from "../../tools/console/bundle.ts";
import { ALL, PAGES, renamed } from "./answers/all.ts";
import { SIGNED_IN } from "./answers/session.ts";
import { CHROMIUM, openStage, WITHOUT, type Stage } from "./browser.ts";
import type { Answers } from "./fake-server.ts";

/** Compressed bytes of scripts, style and icons, and of the fonts. */
const LARGEST = 150_000;
const LARGEST_FONTS = 65_000;

test(
  "the console is at most 150 kB compressed, and its fonts 65 kB",
  { timeout: 120_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "signalbox-console-"));
    await buildConsole(folder);
    const assets = readdirSync(join(folder, "assets"));
    const read = (names: readonly string[]): readonly Buffer[] =>
      names.map((name) => readFileSync(join(folder, "assets", name)));
    const files = read(assets.filter((name) => !name.endsWith(".woff2")));
    const fonts = read(assets.filter((name) => name.endsWith(".woff2")));
    const sizeBy = (compress: (file: Buffer) => Buffer): number =>
      files.reduce((sum, file) => sum + compress(file).length, 0);
    rmSync(folder, { recursive: true });
    expect(sizeBy((file) => gzipSync(file, { level: 9 }))).toBeLessThan(LARGEST);
    expect(fonts.length).toBe(3);
    expect(fonts.reduce((sum, { length }) => sum + length, 0)).toBeLessThan(LARGEST_FONTS);
    expect(sizeBy((file) => brotliCompressSync(file))).toBeGreaterThan(10_000);
  },
);

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe finds serious or worse, by rule and element. */
async function seriousOf(page: Page): Promise<readonly string[]> {
  await page.evaluate(AXE);
  return page.evaluate<string[]>(
    `axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ": " + html.slice(0, 200))))`,
  );
}

const HOSTILE = `<script>alert(1)</script><img src=x onerror=alert(1)>\u202Egnp.exe\u2066${"wide".repeat(50)}`;

/** What a reader sees, hovers over or hears. */
const READ = `document.title + document.body.textContent + Array.from(document.querySelectorAll("[title],[aria-label]"),
  (each) => each.getAttribute("title") + each.getAttribute("aria-label")).join(" ")`;

describe.skipIf(CHROMIUM === null)(
  `every page of the console${WITHOUT}`,
  { timeout: 180_000 },
  () => {
    let stage: Stage;
    beforeAll(async () => {
      stage = await openStage();
    }, 120_000);
    afterAll(() => stage.close(), 120_000);

    test.each(PAGES)(
      "%s has no serious finding of axe, in light and in dark",
      async (_, hash, text) => {
        for (const dark of [false, true]) {
          const page = await stage.open(hash, ALL, { dark });
          await page.getByText(text).first().waitFor();
          expect(await seriousOf(page), dark ? "dark" : "light").toEqual([]);
        }
        expect(stage.complaints).toEqual([]);
      },
    );

    test("the sign-in has no serious finding of axe", async () => {
      const session = {
        signed_in: false,
        sign_in: { key: true, oidc: { name: "Example SSO", url: "/console/oidc/start" } },
      };
      const page = await stage.open("", { "GET /console/session": { body: session } });
      await page.getByRole("link", { name: "Continue with Example SSO" }).waitFor();
      expect(await seriousOf(page)).toEqual([]);
    });

    test.each(PAGES)(
      "%s fits 360 pixels: only its tables scroll sideways",
      async (_, hash, text) => {
        const page = await stage.open(hash, ALL, { width: 360 });
        await page.getByText(text).first().waitFor();
        expect(
          await page.evaluate<number>("document.documentElement.scrollWidth"),
        ).toBeLessThanOrEqual(360);
      },
    );

    test.each([
      ["Budgets", "#/spend"],
      ["Decisions", "#/decisions"],
      ["Keys", "#/keys"],
      ["By constraint and reason", "#/policies/tool-approval"],
      ["Example requests", "#/policies/tool-approval"],
      ["History", "#/policies/tool-approval"],
    ])("%s at 390 pixels are cards: no column is out of sight", async (label, hash) => {
      const page = await stage.open(hash, ALL, { width: 390 });
      const table = page.locator(`.scroll[aria-label="${label}"]`);
      await table.waitFor();
      const [width, content] = await table.evaluate((each) => [each.clientWidth, each.scrollWidth]);
      expect(content).toBeLessThanOrEqual(width ?? 0);
      expect(await table.locator("thead").isVisible()).toBe(false);
    });

    test("a key's name and its buttons share a line at 900 pixels", async () => {
      const page = await stage.open("#/keys", ALL, { width: 900 });
      const cells = page.locator('.scroll[aria-label="Keys"] tbody tr').first().locator("td");
      await cells.first().waitFor();
      const [name, buttons] = [await cells.first().boundingBox(), await cells.last().boundingBox()];
      expect(name?.y).toBeGreaterThan(0);
      expect(buttons?.y).toBe(name?.y);
    });

    test.each(PAGES)(
      "%s executes no hostile name, and none reverses the text or widens the page",
      async (_, hash) => {
        const hostile: Answers = Object.fromEntries(
          Object.entries(ALL).map(([path, answer]) => [
            path,
            typeof answer === "function"
              ? (request) => ({ body: renamed(answer(request).body, HOSTILE) })
              : { ...answer, body: renamed(answer.body, HOSTILE) },
          ]),
        );
        const session = {
          body: { ...SIGNED_IN, person: { ...SIGNED_IN.person, name: HOSTILE }, build_id: HOSTILE },
        };
        const page = await stage.open(hash, {
          ...hostile,
          "GET /console/session": session,
          "POST /v1/route/simulate": ALL["POST /v1/route/simulate"] ?? { body: {} },
        });
        await page.getByRole("button", { name: "Sign out" }).waitFor();
        await expect.poll(() => page.locator(".placeholder").count()).toBe(0);
        expect(await page.locator("img, script:not([src])").count()).toBe(0);
        expect(await page.evaluate<string>(READ)).not.toMatch(/[\u202A-\u202E\u2066-\u2069]/);
        expect(
          await page.evaluate<number>("document.documentElement.scrollWidth"),
        ).toBeLessThanOrEqual(1280);
        expect(stage.complaints).toEqual([]);
      },
    );

    test("every control is reached and shown by keyboard", async () => {
      const page = await stage.open("#/keys", ALL);
      await page.getByText("16 keys, page 1").waitFor();
      const wanted = await page.locator("a[href], button:not(:disabled), select, input").count();
      const reached = new Set<string>();
      for (let tabs = 0; tabs < wanted + 10; tabs += 1) {
        await page.keyboard.press("Tab");
        reached.add(
          await page.evaluate<string>(
            "(() => { const e = document.activeElement; e.dataset.at ??= String(Math.random()); return e.matches('a[href],button,select,input') && getComputedStyle(e).outlineStyle !== 'none' ? e.dataset.at : ''; })()",
          ),
        );
      }
      reached.delete("");
      expect(reached.size).toBe(wanted);
    });

    test("no element moves with prefers-reduced-motion", async () => {
      const page = await stage.open("#/decisions", {
        ...ALL,
        "GET /v1/decisions": { body: {}, status: 503 },
      });
      const moving = await page.evaluate<number>("document.getAnimations().length");
      expect(moving).toBe(0);
    });
  },
);
