import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { runCommands } from "../../../src/cli/commands.ts";
import { TEST_CACHE_FOLDER } from "../../support/cache.ts";

export const ROOT = resolve(import.meta.dirname, "../../..");
const POLICY_CACHE = ["--cache", TEST_CACHE_FOLDER];

/**
 * A temporary folder with the repository's own policies and its routes.yaml after `edit`. The
 * caller removes it.
 */
export function configuration(edit: (routes: string) => string = (routes) => routes): string {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-serve-"));
  cpSync(join(ROOT, "policies"), join(folder, "policies"), { recursive: true });
  writeFileSync(join(folder, "routes.yaml"), edit(readFileSync(join(ROOT, "routes.yaml"), "utf8")));
  return folder;
}

/** Arguments of a command; `serve` shares the compiled policies of all tests. */
export const withCache = (argv: readonly string[]): readonly string[] =>
  argv[0] === "serve" ? [...argv, ...POLICY_CACHE] : argv;

/** What a command has printed on both streams, and a way to wait for more. */
export class Printed {
  #text = "";
  #read = 0;

  readonly add = (text: string): void => void (this.#text += text);

  get all(): string {
    return this.#text;
  }

  /** Waits for the first match after the last one that was waited for. @throws after 50 s. */
  async next(pattern: RegExp): Promise<RegExpExecArray> {
    const deadline = performance.now() + 50_000;
    for (;;) {
      const found = pattern.exec(this.#text.slice(this.#read));
      if (found !== null) {
        this.#read += found.index + found[0].length;
        return found;
      }
      if (performance.now() > deadline)
        throw new Error(`never printed ${String(pattern)}:\n${this.#text}`);
      await delay(5);
    }
  }
}

export interface Running {
  readonly printed: Printed;
  /** The exit code. */
  readonly ended: Promise<number | null>;
  readonly stop: () => void;
}

/**
 * A command of the command line in this process: a process for each would cost a second of a core.
 */
export function run(
  folder: string,
  argv: readonly string[],
  environment: Record<string, string> = {},
): Running {
  const printed = new Printed();
  const stop = new AbortController();
  const io = {
    stdout: printed.add,
    stderr: printed.add,
    environment,
    cwd: folder,
    signal: stop.signal,
  };
  return { printed, ended: runCommands(withCache(argv), io), stop: () => stop.abort() };
}

export interface Demo extends Running {
  readonly folder: string;
  readonly url: string;
  readonly admin: string;
  readonly key: string;
  chat(more?: object, headers?: Record<string, string>): Promise<Response>;
}

/** Waits until `serve --demo` listens. */
export async function listening(folder: string, running: Running): Promise<Demo> {
  const [, url = "", admin = ""] = await running.printed.next(
    /listening on (\S+) \(admin on (\S+)\)/,
  );
  const [, key = ""] = await running.printed.next(/demo key .*\n {2}(sbx_\S+)/);
  const chat = (more: object = {}, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
      body: JSON.stringify({
        model: "chat-small",
        messages: [{ role: "user", content: "my-secret-prompt" }],
        ...more,
      }),
    });
  return { ...running, folder, url, admin, key, chat };
}

/** `serve --demo` in this process. */
export function demo(folder: string, argv: readonly string[] = []): Promise<Demo> {
  return listening(folder, run(folder, ["serve", "--demo", "--port", "0", ...argv]));
}

/** Stops a server of this process and removes its folder. */
export async function end({ folder, stop, ended }: Demo): Promise<void> {
  stop();
  await ended;
  rmSync(folder, { recursive: true, force: true });
}
