import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { COMPILED } from "../support/node-cache.ts";

const ROOT = resolve(import.meta.dirname, "../..");

function start(argv: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-streams-"));
  const child = spawn(process.execPath, [join(ROOT, "src/main.ts"), ...argv], {
    cwd: folder,
    env: { ...COMPILED, PATH: process.env.PATH ?? "" },
  });
  onTestFinished(() => {
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  });
  return child;
}

describe("a command whose output is closed", () => {
  it("continues to serve, and exits with 0 on SIGTERM", async () => {
    const child = start(["mock", "--port", "0"]);
    const [said]: readonly unknown[] = await once(child.stdout, "data");
    const url = /http:\/\/\S+/.exec(String(said))?.[0] ?? "";
    child.stdout.destroy();
    child.stderr.destroy();
    expect((await fetch(url)).status).toBeLessThan(500);
    child.kill("SIGTERM");
    const [code]: readonly unknown[] = await once(child, "exit");
    // It has reported that it stops, without a reader.
    expect(code).toBe(0);
  });

  it("ends without a message where it only prints", async () => {
    const child = start(["check", "--help"]);
    child.stdout.destroy();
    let stderr = "";
    child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
    await once(child, "exit");
    expect(stderr).toBe("");
  });
});
