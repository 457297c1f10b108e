import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Children, Listening } from "../children.ts";

const ROOT = join(import.meta.dirname, "../..");
const MAIN = join(ROOT, "src/main.ts");
const PLACEHOLDER = "http://127.0.0.1:1/v1";

/** Set for the server alone; the benchmark's upstream looks at no credential. */
const SECRET_VARIABLE = "SIGNALBOX_BENCH_SECRET";

export interface StartedSignalbox extends Listening {
  /** A service key with the scope `inference`, good for a day. */
  readonly key: string;
}

/** Starts Signalbox as people run it: keys, policies and evidence on, in a folder of its own. */
export async function startSignalbox(
  children: Children,
  upstream: string,
  folder: string,
  core: string | null,
  flags: readonly string[] = [],
): Promise<StartedSignalbox> {
  const home = join(folder, "signalbox");
  const database = join(home, "signalbox.db");
  mkdirSync(home, { recursive: true });
  cpSync(join(ROOT, "policies"), join(home, "policies"), { recursive: true });
  const routes = readFileSync(join(import.meta.dirname, "routes.yaml"), "utf8");
  writeFileSync(join(home, "routes.yaml"), routes.replaceAll(PLACEHOLDER, `${upstream}/v1`));
  const key = createKey(database);
  process.env[SECRET_VARIABLE] = "upstream";
  const files = [
    "--config",
    join(home, "routes.yaml"),
    "--database",
    database,
    "--cache",
    join(home, "cache"),
  ];
  const argv = [
    MAIN,
    "serve",
    ...files,
    "--port",
    "0",
    "--admin-port",
    "0",
    "--no-watch",
    "--drain",
    "1",
    ...flags,
  ];
  return { ...(await children.startServer(process.execPath, argv, core, false)), key };
}

function createKey(database: string): string {
  const grants = [
    "--workspace",
    "bench",
    "--scopes",
    "inference",
    "--owner",
    "bench",
    "--expires",
    "1d",
    "--quiet",
  ];
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [MAIN, "keys", "create", "--database", database, ...grants],
    {
      encoding: "utf8",
      timeout: 60_000,
    },
  );
  if (status !== 0) throw new Error(`signalbox keys create failed: ${stderr.trim()}`);
  return stdout.trim();
}
