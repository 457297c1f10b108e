import { execFile, spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join, resolve } from "node:path";

export const ROOT = resolve(import.meta.dirname, "../..");

/** What `npm pack` says of the tarball. */
export interface Packed {
  /** Path of the tarball. */
  readonly tarball: string;
  /** Paths inside it. */
  readonly files: readonly string[];
}

export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A folder of programs that comes before all others, so that `env node` finds the one in it. */
function environment(programs: string): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(npm_(package|lifecycle)|SIGNALBOX_|INIT_CWD|NODE_COMPILE_CACHE)/.test(name),
  );
  return {
    ...Object.fromEntries(kept),
    PATH: [programs, process.env.PATH ?? ""].join(delimiter),
    NO_COLOR: "1",
  };
}

/** Runs a program to its end, with the Node of a folder. */
export function run(
  node: string,
  cwd: string,
  program: string,
  argv: readonly string[],
): Promise<Finished> {
  return new Promise((done) => {
    execFile(
      program,
      argv,
      { cwd, env: environment(dirname(node)), maxBuffer: 1 << 26 },
      (error, stdout, stderr) => {
        done({
          code: error === null ? 0 : typeof error.code === "number" ? error.code : -1,
          stdout,
          stderr,
        });
      },
    );
  });
}

/** Starts a program that runs until it is stopped, as the leader of a group of its own. */
export function start(
  node: string,
  cwd: string,
  program: string,
  argv: readonly string[],
): ChildProcess {
  return spawn(program, argv, { cwd, env: environment(dirname(node)), detached: true });
}

/** Builds and packs the project as it would be published. */
export async function pack(into: string): Promise<Packed> {
  const { code, stdout, stderr } = await run(process.execPath, ROOT, "npm", [
    "pack",
    "--json",
    "--pack-destination",
    into,
  ]);
  if (code !== 0) throw new Error(`npm pack failed:\n${stderr}`);
  const [described] = JSON.parse(stdout) as readonly {
    filename: string;
    files: readonly { path: string }[];
  }[];
  if (described === undefined) throw new Error("npm pack described nothing");
  return {
    tarball: join(into, described.filename),
    files: described.files.map(({ path }) => path),
  };
}

/** What npm says where there is no registry. */
const UNREACHABLE =
  /^(ENOTFOUND|ECONNREFUSED|ECONNRESET|EAI_AGAIN|ENETUNREACH|ETIMEDOUT|ERR_SOCKET_TIMEOUT|E5\d\d)$/;

/**
 * `npm install` in a folder, without scripts, refusing what this Node is too old for. @returns
 * npm's code where the registry cannot be had
 */
export async function install(
  node: string,
  folder: string,
  wanted: readonly string[],
): Promise<string | null> {
  const flags = [
    "--no-audit",
    "--no-fund",
    "--ignore-scripts",
    "--engine-strict",
    "--prefer-offline",
  ];
  const { code, stderr } = await run(node, folder, "npm", ["install", ...flags, ...wanted]);
  if (code === 0) return null;
  const [, why = ""] = /npm error code (\S+)/.exec(stderr) ?? [];
  if (!UNREACHABLE.test(why)) throw new Error(`npm install failed:\n${stderr}`);
  return why;
}

/** The oldest Node of every line that package.json's `engines` names. */
export function oldestNodes(): readonly string[] {
  const { engines } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    engines: { node: string };
  };
  return [...engines.node.matchAll(/\d+\.\d+\.\d+/g)].map(([version]) => version);
}

/**
 * Brings binaries of Node from the registry, once: they stay in `.signalbox/nodes`.
 *
 * @returns the path of each version's program; `null` where it cannot be had here
 */
export async function bringNodes(
  versions: readonly string[],
): Promise<ReadonlyMap<string, string> | null> {
  // The packages that tools/node brings, in other versions.
  if (process.platform !== "linux" || !["x64", "arm64"].includes(process.arch)) return null;
  const folder = join(ROOT, ".signalbox/nodes");
  const at = (version: string): string =>
    join(folder, "node_modules", `node-${version}`, "bin/node");
  if (versions.some((version) => !existsSync(at(version)))) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), '{ "private": true }\n');
    const name = `node-${process.platform}-${process.arch}`;
    const why = await install(
      process.execPath,
      folder,
      versions.map((version) => `node-${version}@npm:${name}@${version}`),
    );
    if (why !== null) return null;
  }
  return new Map(versions.map((version) => [version, at(version)]));
}
