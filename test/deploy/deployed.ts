import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseAllDocuments } from "yaml";
import { parseServeOptions } from "../../src/cli/serve/options.ts";
import type { ServeOptions } from "../../src/server/running-server.ts";
import type { CommandIo } from "../../src/cli/terminal/command-io.ts";

export const ROOT = resolve(import.meta.dirname, "../..");

export function text(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

/** Anything that came out of YAML or JSON; tests say what they expect of it. */
// oxlint-disable-next-line typescript/no-explicit-any -- a document's shape is what these tests are about
export type Document = any;

/**
 * Every document of a YAML file. @throws {Error} for whatever the strict reader warns of, doubled
 * keys too
 */
export function documents(path: string): readonly Document[] {
  return parseAllDocuments(text(path), { uniqueKeys: true, strict: true }).map((document) => {
    const [problem] = [...document.errors, ...document.warnings];
    if (problem !== undefined) throw new Error(`${path}: ${problem.code}`);
    return document.toJS();
  });
}

/**
 * Reads a command line as the server would. @throws {UsageError} for a flag or a value that it does
 * not take
 */
export function serveOptions(argv: readonly string[]): ServeOptions {
  if (argv[0] !== "serve") throw new Error("the command is not serve");
  const io = { environment: {}, cwd: "/var/lib/signalbox" } as CommandIo;
  return parseServeOptions(argv.slice(1), io);
}

/** Names of variables such as SIGNALBOX_DATABASE_URL in the sources. */
export function knownVariables(): ReadonlySet<string> {
  const files = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" });
  const sources = files.filter((path) => path.endsWith(".ts")).map((path) => text(`src/${path}`));
  return new Set(sources.flatMap((source) => source.match(/\bSIGNALBOX_[A-Z_]+\b/g) ?? []));
}

/** Every file below deploy/, and what Docker excludes. */
export function deployedFiles(): readonly string[] {
  const below = readdirSync(join(ROOT, "deploy"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1));
  return [...below, ".dockerignore"];
}

/** Seconds of a duration such as `45s`. */
export function seconds(duration: string): number {
  const [, amount, unit] = /^(\d+)(s|m)?$/.exec(duration) ?? [];
  if (amount === undefined) throw new Error("not a duration");
  return Number(amount) * (unit === "m" ? 60 : 1);
}
