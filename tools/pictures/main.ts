// `npm run tool -- pictures`: the drawings of docs/images, and where Chromium is at hand the
// screenshots of a simulation's report and of the console.
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { chromium } from "playwright-core";
import { CHROMIUM } from "../../test/console/browser.ts";
import { DRAWINGS } from "./drawings.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const IMAGES = join(ROOT, "docs/images");

for (const [name, draw] of Object.entries(DRAWINGS)) writeFileSync(join(IMAGES, name), draw());
if (CHROMIUM === null) {
  process.stdout.write("no Chromium here: no screenshots; CHROMIUM may name one\n");
} else {
  await reportScreenshot(CHROMIUM);
  if (process.argv.includes("--console")) await import("../console/screenshots.ts");
}

/** The HTML report of the example of docs/simulate.md: one fallback that leads out of Europe. */
async function reportScreenshot(executablePath: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-pictures-"));
  try {
    const [base, head, page] = [
      join(folder, "main"),
      join(folder, "us-fallback"),
      join(folder, "report.html"),
    ];
    for (const side of [base, head])
      cpSync(join(ROOT, "docs/examples/eu-fallback"), side, { recursive: true });
    const routes = join(head, "routes.yaml");
    execFileSync("sed", [
      "-i",
      "s/fallbacks: \\[mistral-large-eu\\]/fallbacks: [mistral-large-eu, gpt-5-us]/",
      routes,
    ]);
    const command = [
      join(ROOT, "src/main.ts"),
      "simulate",
      "--base",
      "./main",
      "--head",
      "./us-fallback",
      "--format",
      `html=${page}`,
      "--quiet",
    ];
    // Ends with 3: an assertion fails.
    try {
      execFileSync(process.execPath, command, { cwd: folder });
    } catch (error) {
      if (!(error instanceof Error) || Reflect.get(error, "status") !== 3) throw error;
    }
    const browser = await chromium.launch({
      executablePath,
      args: ["--no-sandbox", "--disable-gpu"],
    });
    const tab = await browser.newPage({
      viewport: { width: 1280, height: 900 },
      colorScheme: "light",
    });
    await tab.goto(`file://${page}`);
    await tab.screenshot({ path: join(IMAGES, "simulation-report.png"), animations: "disabled" });
    await browser.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
