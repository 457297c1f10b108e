import { spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Scope } from "../../src/canon/identity.ts";
import { createKey } from "../../src/keys/key-record.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { whenFileEnds } from "./file-end.ts";
import { until } from "./router.ts";
import { COMPILED } from "./node-cache.ts";

const ROOT = resolve(import.meta.dirname, "../..");

/** `signalbox serve` in a process of its own, over a store of its own. */
export interface SpawnedServer {
  readonly url: string;
  readonly adminUrl: string;
  readonly folder: string;
  readonly database: string;
  readonly child: ChildProcess;
  /** A key of workspace `w`. */
  readonly key: string;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** SIGTERM, and the exit code. */
  stop(): Promise<number | null>;
}

/** Serves `routes` (the parsed routes.yaml), JSON log on debug. */
export async function spawnServer(
  routes: object,
  environment: Readonly<Record<string, string>> = {},
  flags: readonly string[] = ["--log-format", "json", "--log-level", "debug"],
): Promise<SpawnedServer> {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-spawned-"));
  whenFileEnds(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, "routes.yaml"), JSON.stringify(routes));
  const database = join(folder, "signalbox.db");
  const key = await makeKey(database, [
    "inference",
    "catalogue:read",
    "route:simulate",
    "governance:read",
  ]);
  const argv = [
    "serve",
    "--port",
    "0",
    "--drain",
    "2",
    "--no-watch",
    "--database",
    database,
    ...flags,
  ];
  const child = spawn(process.execPath, [join(ROOT, "src/main.ts"), ...argv], {
    cwd: folder,
    env: { ...COMPILED, PATH: process.env.PATH ?? "", ...environment },
  });
  whenFileEnds(() => child.kill("SIGKILL"));
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString("latin1")));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString("latin1")));
  const spoken = /listening on (\S+) \(admin on (\S+)\)/;
  await until(() => spoken.test(stdout + stderr) || child.exitCode !== null, 50_000);
  const [, url = "", adminUrl = ""] = spoken.exec(stdout + stderr) ?? [];
  if (url === "") throw new Error(`the server did not start:\n${stdout}${stderr}`);
  // After `exit` the pipes may still hold the last lines.
  const closed = once(child, "close");
  const stop = async (): Promise<number | null> => {
    child.kill("SIGTERM");
    await closed;
    return child.exitCode;
  };
  return {
    url,
    adminUrl,
    folder,
    database,
    child,
    key,
    stdout: () => stdout,
    stderr: () => stderr,
    stop,
  };
}

async function makeKey(database: string, scopes: readonly Scope[]): Promise<string> {
  const store = await openSqliteStore({ path: database });
  const expiresAt = Date.now() + 600_000;
  const options = {
    workspace: "w",
    scopes,
    owner: "test",
    environment: "production",
    expiresAt,
    createdBy: "test",
  };
  const made = createKey(options, Date.now, randomBytes);
  await store.keys.create(made.record);
  await store.close();
  return made.text;
}

/** What a collector was sent. */
export interface Collector {
  readonly url: string;
  readonly posts: readonly {
    readonly path: string;
    readonly headers: IncomingHttpHeaders;
    readonly body: string;
  }[];
}

/** A collector of OTLP over HTTP that keeps everything. */
export async function startCollector(status = 200): Promise<Collector> {
  const posts: { path: string; headers: IncomingHttpHeaders; body: string }[] = [];
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    posts.push({
      path: incoming.url ?? "",
      headers: incoming.headers,
      body: Buffer.concat(chunks).toString(),
    });
    response.writeHead(status, { "content-type": "application/json" }).end("{}");
  });
  await new Promise<void>((done) => {
    server.listen(0, "127.0.0.1", done);
  });
  whenFileEnds(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return { url: `http://127.0.0.1:${address.port}`, posts };
}
