import { spawn } from "node:child_process";
import { hash } from "node:crypto";
import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { COMPILED } from "./node-cache.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const FOLDER = join(ROOT, "src/validation/checks");
const STAMP = join(FOLDER, "stamp");

/**
 * Compiles the checks of JSON Schema, as the package has them, where a source has changed since. In
 * each process and each thread that reads a routes.yaml, compiling its check would cost 0.4 s of a
 * core. Nothing waits for it: a check that is not there yet is compiled where it is needed.
 */
export default function compiledChecks(): void {
  const stamp = stampOfSources();
  if (existsSync(STAMP) && readFileSync(STAMP, "utf8") === stamp) return;
  const options = { env: { ...process.env, ...COMPILED }, stdio: "ignore" } as const;
  spawn(process.execPath, [import.meta.filename, stamp], options).unref();
}

/** Differs after a change of a source or another version of ajv. */
function stampOfSources(): string {
  const sources = globSync(["src/**/*.ts", "tools/build/checks.ts"], { cwd: ROOT });
  const times = sources.toSorted().map((path) => {
    const { mtimeMs, size } = statSync(join(ROOT, path));
    return `${path} ${mtimeMs} ${size}`;
  });
  const ajv = readFileSync(join(ROOT, "node_modules/ajv/package.json"), "utf8");
  return hash("sha256", JSON.stringify([times, ajv]), "hex");
}

async function writeChecks(stamp: string): Promise<void> {
  const { BODY_CHECKS, codeOf, FILE_CHECKS } = await import("../../tools/build/checks.ts");
  const { checkName } = await import("../../src/validation/validator.ts");
  mkdirSync(FOLDER, { recursive: true });
  // A test process must never load half a file.
  const write = (path: string, text: string): void => {
    writeFileSync(`${path}.${process.pid}`, text);
    renameSync(`${path}.${process.pid}`, path);
  };
  const checks = [...Object.values(FILE_CHECKS), ...Object.values(BODY_CHECKS)];
  for (const check of checks) write(join(FOLDER, checkName(check)), codeOf(check));
  const names = new Set(checks.map(checkName));
  for (const name of readdirSync(FOLDER)) if (!names.has(name)) rmSync(join(FOLDER, name));
  write(STAMP, stamp);
}

if (import.meta.main) await writeChecks(process.argv[2] ?? "");
