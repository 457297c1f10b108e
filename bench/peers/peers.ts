import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { cpSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { CASES } from "../cases.ts";
import type { Children } from "../children.ts";
import { answers, freePort } from "../ports.ts";
import type { Subject } from "../subjects.ts";

/** Outside of the checkout: tests and searches would read the thousands of files of others. */
const INSTALLED = join(
  process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"),
  "signalbox-bench-peers",
);

/** Milliseconds: LiteLLM imports for half a minute on a busy core. */
const START_LIMIT = 120_000;

/** The part of a case's requests that a peer gets: LiteLLM would take minutes for all of them. */
const SHARE = 0.1;

interface Peer {
  readonly name: string;
  /** Installs it into the folder; a sentence where that fails. */
  readonly install: (folder: string) => string | null;
  readonly command: (
    folder: string,
    home: string,
    port: number,
    upstream: string,
  ) => {
    readonly program: string;
    readonly argv: readonly string[];
    readonly headers: Readonly<Record<string, string>>;
  };
}

const PEERS: readonly Peer[] = [
  {
    name: "portkey 1.15.2",
    install: (folder) => {
      cpSync(join(import.meta.dirname, "portkey/package.json"), join(folder, "package.json"));
      return run(
        "npm",
        ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"],
        folder,
      );
    },
    command: (folder, _home, port, upstream) => ({
      program: process.execPath,
      argv: [
        join(folder, "node_modules/@portkey-ai/gateway/build/start-server.js"),
        `--port=${port}`,
        "--headless",
      ],
      headers: {
        authorization: "Bearer upstream",
        "x-portkey-provider": "openai",
        "x-portkey-custom-host": `${upstream}/v1`,
      },
    }),
  },
  {
    name: "litellm 1.100.5",
    install: (folder) =>
      run("python3", ["-m", "venv", "environment"], folder) ??
      run(
        join(folder, "environment/bin/pip"),
        [
          "install",
          "--quiet",
          "--requirement",
          join(import.meta.dirname, "litellm/requirements.txt"),
        ],
        folder,
      ),
    command: (folder, home, port, upstream) => {
      const key = `sk-${randomBytes(24).toString("hex")}`;
      const models = CASES.map(({ model }) => ({
        model_name: model,
        litellm_params: {
          model: `openai/${model}`,
          api_base: `${upstream}/v1`,
          api_key: "upstream",
        },
      }));
      // JSON is YAML.
      writeFileSync(join(home, "litellm.yaml"), JSON.stringify({ model_list: models }));
      Object.assign(process.env, {
        LITELLM_LOCAL_MODEL_COST_MAP: "True",
        LITELLM_LOG: "ERROR",
        LITELLM_MASTER_KEY: key,
      });
      const files = [
        "--config",
        join(home, "litellm.yaml"),
        "--host",
        "127.0.0.1",
        "--port",
        String(port),
      ];
      return {
        program: join(folder, "environment/bin/litellm"),
        argv: [...files, "--num_workers", "1"],
        headers: { authorization: `Bearer ${key}` },
      };
    },
  },
];

/**
 * Installs what is not installed yet, and starts it. A sentence for each peer that cannot take
 * part.
 */
export async function startPeers(
  children: Children,
  upstream: string,
  home: string,
  core: string | null,
): Promise<readonly (Subject | string)[]> {
  const started: (Subject | string)[] = [];
  for (const peer of PEERS) started.push(await startPeer(peer, children, upstream, home, core));
  return started;
}

async function startPeer(
  peer: Peer,
  children: Children,
  upstream: string,
  home: string,
  core: string | null,
): Promise<Subject | string> {
  const { name } = peer;
  const folder = join(INSTALLED, name.replace(" ", "-"));
  const mark = join(folder, "complete");
  if (!existsSync(mark)) {
    process.stderr.write(`installing ${name} into ${folder}\n`);
    mkdirSync(folder, { recursive: true });
    const problem = peer.install(folder);
    if (problem !== null) return `${name}: ${problem}, omitted`;
    writeFileSync(mark, "");
  }
  const port = await freePort();
  const { program, argv, headers } = peer.command(folder, home, port, upstream);
  const child = children.start(program, argv, core, false);
  // Its own messages are not read; unread they would fill the pipe and stop it.
  child.stdout?.resume();
  const origin = `http://127.0.0.1:${port}`;
  if (await answers(origin, START_LIMIT))
    return { name, origin, headers, pid: child.pid ?? null, share: SHARE };
  child.kill();
  return `${name}: did not answer within ${START_LIMIT / 1_000} s, omitted`;
}

/** Runs a program to its end; `null`, or a sentence where it failed. */
function run(program: string, argv: readonly string[], cwd: string): string | null {
  const { status, error } = spawnSync(program, argv, {
    cwd,
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (error !== undefined) return `${program} cannot be started`;
  return status === 0 ? null : `${program} ${argv[0] ?? ""} ended with ${status ?? "a signal"}`;
}
