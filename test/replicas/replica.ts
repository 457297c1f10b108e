import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join, resolve } from "node:path";

import { isPostgresUrl } from "../../src/store/postgres/settings.ts";
import { until } from "../support/router.ts";
import { freePort } from "../support/ports.ts";
import { COMPILED } from "../support/node-cache.ts";

const ROOT = resolve(import.meta.dirname, "../..");

/** `signalbox serve` at one port, which can be killed and come back. */
export class Replica {
  readonly port: number;
  readonly #folder: string;
  readonly #database: string;
  #child: ChildProcess | null = null;

  private constructor(port: number, folder: string, database: string) {
    this.port = port;
    this.#folder = folder;
    this.#database = database;
  }

  /**
   * @param folder holds routes.yaml. @param database URL of PostgreSQL, or the path of an SQLite
   * file.
   */
  static async start(folder: string, database: string): Promise<Replica> {
    const replica = new Replica(await freePort(), folder, database);
    await replica.start();
    return replica;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    const flags = ["--port", String(this.port), "--admin-port", "0", "--drain", "3", "--no-watch"];
    const child = spawn(process.execPath, [join(ROOT, "src/main.ts"), "serve", ...flags], {
      cwd: this.#folder,
      env: {
        ...COMPILED,
        PATH: process.env.PATH ?? "",
        [isPostgresUrl(this.#database) ? "SIGNALBOX_DATABASE_URL" : "SIGNALBOX_DATABASE"]:
          this.#database,
        PROVIDER_KEY: "provider-key",
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    let said = "";
    child.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
    await until(() => said.includes("listening on") || child.exitCode !== null, 60_000);
    if (child.exitCode !== null) throw new Error(`the replica did not start:\n${said}`);
  }

  /** Without warning. */
  kill(): Promise<void> {
    return this.#end("SIGKILL");
  }

  /** As an operator does it. */
  stop(): Promise<void> {
    return this.#end("SIGTERM");
  }

  async #end(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill(signal);
    await exited;
  }
}
