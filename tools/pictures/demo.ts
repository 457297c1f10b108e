// `npm run tool -- demo`: the pictures of the README's tour, from a real `serve --demo --traffic`
// after its minute of made-up requests. Needs Chromium.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { chromium } from "playwright-core";
import { CHROMIUM } from "../../test/console/browser.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const PAGES: Readonly<Record<string, string>> = {
  "demo-1-overview.png": "#/?window=1h",
  "demo-2-denied.png": "#/decisions?outcome=deny&since=24",
  "demo-3-shadow.png": "#/policies/tool-approval",
};

if (CHROMIUM === null) throw new Error("no Chromium here; CHROMIUM may name one");
const folder = mkdtempSync(join(tmpdir(), "signalbox-demo-"));
const argv = ["serve", "--demo", "--traffic", "--port", "0", "--database", join(folder, "demo.db")];
const server = spawn(process.execPath, [join(ROOT, "src/main.ts"), ...argv], { cwd: ROOT });
try {
  let printed = "";
  server.stdout.on("data", (text: Buffer) => (printed += text.toString()));
  while (!printed.includes("made-up traffic:")) await new Promise((wake) => setTimeout(wake, 500));
  const [link = ""] = /http\S+#sign-in=\S+/.exec(printed) ?? [];
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
  const page = await browser.newPage({
    viewport: { width: 1200, height: 760 },
    colorScheme: "light",
  });
  await page.goto(link);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  for (const [name, address] of Object.entries(PAGES)) {
    await page.goto(`${link.split("#")[0] ?? ""}${address}`);
    // A page draws what it has, and reads on.
    await page.waitForTimeout(5_000);
    await page.screenshot({
      path: join(ROOT, "docs/images", name),
      animations: "disabled",
    });
  }
  await browser.close();
} finally {
  server.kill();
  rmSync(folder, { recursive: true, force: true });
}
