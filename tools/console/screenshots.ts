// `npm run tool -- screenshots`: the pictures of docs/console.md, with made-up answers. With a folder:
// every page there, in both themes, three widths, with traffic and without. Needs Chromium.
import { join, resolve } from "node:path";
import { mkdirSync } from "node:fs";
import { ALL, EMPTY, PAGES } from "../../test/console/answers/all.ts";
import { openStage } from "../../test/console/browser.ts";

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

const stage = await openStage();
const [folder] = process.argv.slice(2).filter((each) => !each.startsWith("-"));
if (folder !== undefined) await takeAll(folder);
else await takeDocumented();
await stage.close();

async function takeAll(to: string): Promise<void> {
  mkdirSync(to, { recursive: true });
  for (const [answersName, answers] of [["full", ALL] as const, ["empty", EMPTY] as const]) {
    for (const [name, hash] of PAGES) {
      for (const width of [390, 900, 1440]) {
        for (const dark of [false, true]) {
          const page = await stage.open(hash, answers, {
            width,
            height: 900,
            dark,
            now: "2026-11-24T02:00:00Z",
          });
          await page.waitForLoadState("networkidle");
          const file = `${answersName}-${name}-${width}-${dark ? "dark" : "light"}.png`;
          await page.screenshot({ path: join(to, file), fullPage: true, animations: "disabled" });
        }
      }
    }
  }
}

async function takeDocumented(): Promise<void> {
  for (const [name, hash, width, height, dark] of PICTURES) {
    const page = await stage.open(hash, ALL, { width, height, dark, now: "2026-11-24T02:00:00Z" });
    await page.waitForLoadState("networkidle");
    await page.screenshot({ path: join(IMAGES, `console-${name}.png`), animations: "disabled" });
    if (stage.complaints.length > 0) throw new Error(stage.complaints.join("; "));
  }
}
