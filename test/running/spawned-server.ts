import { spawn, type ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { onTestFinished } from "vitest";
import { until } from "../support/router.ts";
import type { Fixture } from "./running-server.ts";
import { COMPILED } from "../support/node-cache.ts";

const ROOT = resolve(import.meta.dirname, "../..");

/** `signalbox serve` as an operator starts it. */
export class SpawnedServer {
  readonly child: ChildProcess;
  readonly exited: Promise<number | null>;
  #said = "";

  private constructor(child: ChildProcess) {
    this.child = child;
    child.stdout?.on("data", (chunk: Buffer) => (this.#said += chunk.toString()));
    child.stderr?.on("data", (chunk: Buffer) => (this.#said += chunk.toString()));
    this.exited = new Promise((done) => {
      child.on("close", done);
    });
  }

  static async start(
    { folder, database, config }: Fixture,
    flags: readonly string[],
  ): Promise<SpawnedServer> {
    const cache = join(ROOT, ".signalbox", "test-cache");
    const ports = ["--port", "0", "--admin-port", "0"];
    const files = ["--config", config, "--database", database, "--cache", cache];
    const child = spawn(
      process.execPath,
      [join(ROOT, "src/main.ts"), "serve", ...ports, ...files, ...flags],
      {
        cwd: folder,
        env: { ...COMPILED, PATH: process.env.PATH ?? "", PROVIDER_KEY: "provider-key" },
      },
    );
    onTestFinished(() => void child.kill("SIGKILL"));
    const server = new SpawnedServer(child);
    await server.says("listening on");
    return server;
  }

  get said(): string {
    return this.#said;
  }

  async says(text: string): Promise<void> {
    await until(() => this.#said.includes(text) || this.child.exitCode !== null, 60_000).catch(
      () => {},
    );
    if (!this.#said.includes(text)) throw new Error(`it did not say so:\n${this.#said}`);
  }

  get url(): string {
    return /listening on (\S+)/.exec(this.#said)?.[1] ?? "";
  }

  get adminUrl(): string {
    return /admin on ([^)]+)\)/.exec(this.#said)?.[1] ?? "";
  }

  /** Process ids of its workers; Linux only. */
  get workers(): readonly number[] {
    const pid = this.child.pid ?? 0;
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
    return text === "" ? [] : text.split(" ").map(Number);
  }
}
