// `npm run tool -- demo`: the pictures of the README's tour, from a real `serve --demo --traffic`
// after its minute of made-up requests. Needs Chromium.
import { join, resolve } from "node:path";
import { startDemo } from "../console/demo.ts";

const IMAGES = resolve(import.meta.dirname, "../../docs/images");
const PAGES: Readonly<Record<string, string>> = {
  "demo-1-overview.png": "#/?window=1h",
  "demo-2-denied.png": "#/decisions?outcome=deny&since=24",
  "demo-3-shadow.png": "#/policies/tool-approval",
};

const { page, console, close } = await startDemo(true);
try {
  await page.setViewportSize({ width: 1200, height: 760 });
  await page.emulateMedia({ colorScheme: "light" });
  for (const [name, address] of Object.entries(PAGES)) {
    await page.goto(`${console}${address}`);
    // A page draws what it has, and reads on.
    await page.waitForTimeout(5_000);
    await page.screenshot({ path: join(IMAGES, name), animations: "disabled" });
  }
} finally {
  await close();
}
