import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium, type BrowserContext, type Page } from "playwright-core";
import { buildConsole } from "../../tools/console/bundle.ts";
import { programAtHand } from "../support/at-hand.ts";
import { FakeServer, type Answers } from "./fake-server.ts";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
export const CHROMIUM =
  process.env.CHROMIUM ??
  NAMES.map((name) => programAtHand(name)).find((path) => path !== null) ??
  null;
export const WITHOUT =
  CHROMIUM === null ? " (skipped: no Chromium here; CHROMIUM may name one)" : "";

const FLAGS =
  "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync";

/**
 * A browser, the console as it is built from these sources, and a server that answers what a test
 * says.
 */
export interface Stage {
  readonly server: FakeServer;
  readonly origin: string;
  /**
   * Opens a page of the console; what the browser complains about until {@link complaintsOf} goes
   * with it.
   */
  readonly open: (hash: string, answers: Answers, options?: PageOptions) => Promise<Page>;
  /**
   * Errors, warnings and violations of the page's content policy, as text; and requests to other
   * origins.
   */
  readonly complaints: string[];
  readonly close: () => Promise<void>;
}

export interface PageOptions {
  readonly width?: number;
  readonly height?: number;
  readonly dark?: boolean;
  /** What the page's clock says; timers run. */
  readonly now?: string;
}

export async function openStage(): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-console-"));
  await buildConsole(join(folder, "page"));
  const server = new FakeServer(join(folder, "page"));
  const origin = await server.start();
  const browser: BrowserContext = await chromium.launchPersistentContext(join(folder, "profile"), {
    executablePath: CHROMIUM ?? "",
    args: FLAGS.split(" "),
    viewport: { width: 1280, height: 900 },
    permissions: ["clipboard-read", "clipboard-write"],
    timezoneId: "Europe/Berlin",
    locale: "en-GB",
  });
  const complaints: string[] = [];

  const open = async (hash: string, answers: Answers, options: PageOptions = {}): Promise<Page> => {
    server.answers = answers;
    server.requests = [];
    complaints.length = 0;
    for (const page of browser.pages().slice(1)) await page.close();
    const page = await browser.newPage();
    await page.setViewportSize({ width: options.width ?? 1280, height: options.height ?? 900 });
    await page.emulateMedia({
      colorScheme: options.dark === true ? "dark" : "light",
      reducedMotion: "reduce",
    });
    if (options.now !== undefined) await page.clock.setFixedTime(options.now);
    page.on("console", (message) => {
      // Chromium reports each answer of 400 and more; tests request such answers.
      if (!/Failed to load resource/.test(message.text())) complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("dialog", (dialog) => {
      complaints.push(`dialog ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("request", (request) => {
      if (!request.url().startsWith(origin)) complaints.push(`request to ${request.url()}`);
    });
    await page.goto(`${origin}/console/${hash}`);
    return page;
  };

  const close = async (): Promise<void> => {
    await browser.close();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  return { server, origin, open, complaints, close };
}
