// `npm run docs` serves the site of `docs/`, and `npm run docs -- build` builds it into
// .signalbox/docs and checks every link and anchor. The generator has a lockfile of its own: only
// builds of the site install it (100 MB).
import { spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { deadLinks } from "./check.ts";

const HERE = import.meta.dirname;
const BASE = process.env.SIGNALBOX_DOCS_BASE ?? "/";
if (!/^\/(?:.*\/)?$/.test(BASE))
  throw new Error("SIGNALBOX_DOCS_BASE must begin and end with a slash, as /v0.2.0/");

const installed = join(HERE, "node_modules/.package-lock.json");
if (
  !existsSync(installed) ||
  statSync(installed).mtimeMs < statSync(join(HERE, "package-lock.json")).mtimeMs
) {
  run("npm", "ci", "--no-audit", "--no-fund");
}
const [command = "serve", ...rest] = process.argv.slice(2);
if (command === "serve") run("npm", "exec", "--", "vitepress", "dev", ".", ...rest);
else {
  run("npm", "exec", "--", "vitepress", "build", ".");
  const dead = deadLinks(join(HERE, "../../.signalbox/docs"), BASE);
  if (dead.length > 0) {
    process.stderr.write(`links that lead nowhere:\n${dead.join("\n")}\n`);
    process.exitCode = 1;
  }
}

function run(program: string, ...argv: readonly string[]): void {
  const { status } = spawnSync(program, argv, {
    cwd: HERE,
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  if (status !== 0) process.exit(status ?? 1);
}
