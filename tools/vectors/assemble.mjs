#!/usr/bin/env node
// Writes src/dialects/unary/count-numbers.ts from count-numbers.wat. Needs the assembler of WABT, which is not a dependency:
//
//   npm exec --package=wabt@1.0.39 -- node tools/vectors/assemble.mjs
//
// The digest of the source is written beside the bytes; a test compares it, so that neither is changed without the other.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = dirname(fileURLToPath(import.meta.url));
const source = join(folder, "count-numbers.wat");
const target = join(folder, "../../src/dialects/unary/count-numbers.ts");

const work = mkdtempSync(join(tmpdir(), "signalbox-wat-"));
try {
  const wasm = join(work, "count-numbers.wasm");
  const { status, error } = spawnSync("wat2wasm", [source, "-o", wasm], { stdio: "inherit" });
  if (status !== 0)
    throw new Error("wat2wasm failed; run this file as its first lines say", { cause: error });
  const lines =
    readFileSync(wasm)
      .toString("base64")
      .match(/.{1,110}/g) ?? [];
  const digest = createHash("sha256").update(readFileSync(source)).digest("hex");
  writeFileSync(
    target,
    `/** WebAssembly of tools/vectors/count-numbers.wat, in base64; tools/vectors/assemble.mjs writes this file. */
export const COUNT_NUMBERS = [
${lines.map((line) => `  "${line}",`).join("\n")}
].join("");

/** SHA-256 of the source that it was made of. */
export const SOURCE_DIGEST = "${digest}";
`,
  );
} finally {
  rmSync(work, { recursive: true });
}
