import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { chromium, type Page } from "playwright-core";
import { CHROMIUM } from "../../test/console/browser.ts";
import { buildConsole } from "./bundle.ts";

const ROOT = resolve(import.meta.dirname, "../..");

/** The console of a `serve --demo`, signed in. */
export interface Demo {
  readonly page: Page;
  /** Address of the console, without a fragment. */
  readonly console: string;
  readonly close: () => Promise<void>;
}

/**
 * Starts `serve --demo` with a store of its own and signs a browser in.
 *
 * @param traffic waits until its minute of made-up requests is over.
 * @throws {Error} without Chromium.
 */
export async function startDemo(traffic: boolean): Promise<Demo> {
  if (CHROMIUM === null) throw new Error("no Chromium here; CHROMIUM may name one");
  // Where a server that runs from the sources reads it.
  await buildConsole(join(ROOT, "console/dist"));
  const folder = mkdtempSync(join(tmpdir(), "signalbox-demo-"));
  const argv = ["serve", "--demo", "--port", "0", "--admin-port", "0"];
  const server = spawn(
    process.execPath,
    [
      join(ROOT, "src/main.ts"),
      ...argv,
      ...(traffic ? ["--traffic"] : []),
      "--database",
      join(folder, "demo.db"),
    ],
    { cwd: ROOT },
  );
  let printed = "";
  server.stdout.on("data", (text: Buffer) => (printed += text.toString()));
  const isReady = (): boolean => printed.includes(traffic ? "made-up traffic:" : "#sign-in=");
  while (!isReady()) await new Promise((wake) => setTimeout(wake, 200));
  const [link = ""] = /http\S+#sign-in=\S+/.exec(printed) ?? [];
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
  const page = await browser.newPage({ reducedMotion: "reduce", locale: "en-GB" });
  await page.goto(link);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  const close = async (): Promise<void> => {
    await browser.close();
    server.kill();
    rmSync(folder, { recursive: true, force: true });
  };
  return { page, console: link.split("#")[0] ?? "", close };
}
