import { once } from "node:events";
import { onTestFinished } from "vitest";
import { start } from "./packed.ts";

/** A server that was started with `serve --demo`. */
export interface Demo {
  post(path: string, body: object): Promise<Response>;
  /** Stops it. @returns everything that it has printed */
  stop(): Promise<string>;
}

/** Starts a demo in a folder and waits until it has printed its key. */
export async function serveDemo(
  node: string,
  cwd: string,
  program: string,
  argv: readonly string[],
): Promise<Demo> {
  const child = start(node, cwd, program, argv);
  let printed = "";
  child.stdout?.on("data", (bytes: Buffer) => (printed += bytes.toString()));
  child.stderr?.on("data", (bytes: Buffer) => (printed += bytes.toString()));
  const ended = once(child, "close");
  // Where the test is over before it stops the server.
  onTestFinished(() => kill("SIGKILL"));
  const kill = (signal: NodeJS.Signals): void => {
    // The group: npx, its shell and the server.
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
      process.kill(-child.pid, signal);
  };
  while (!printed.includes("try it:")) {
    const over = await Promise.race([ended, new Promise((wake) => setTimeout(wake, 50))]);
    if (over !== undefined) throw new Error(`the server has ended:\n${printed}`);
  }
  const [, url = ""] = /listening on (\S+)/.exec(printed) ?? [];
  const [, key = ""] = /demo key .*\n {2}(\S+)/.exec(printed) ?? [];
  return {
    post: (path, body) =>
      fetch(`${url}${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
    stop: async () => {
      kill("SIGTERM");
      const late = setTimeout(() => kill("SIGKILL"), 20_000);
      await ended;
      clearTimeout(late);
      return printed;
    },
  };
}
