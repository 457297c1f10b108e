#!/usr/bin/env node
// Rebuilds dist/ from the Go sources beside this file. Needs Go, which using and testing Signalbox do not.
//
//   node tools/rego/rebuild.mjs           writes rego.wasm.br, manifest.json and NOTICES
//   node tools/rego/rebuild.mjs --check   writes nothing; exit status 1 when a rebuild gives other bytes than the manifest says
//
// The raw module is what has to be the same byte for byte. The compressed file is not: another zlib gives other bytes.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, brotliDecompressSync, constants } from "node:zlib";

const folder = dirname(fileURLToPath(import.meta.url));
const dist = join(folder, "dist");
const manifestFile = join(dist, "manifest.json");
const artefactFile = join(dist, "rego.wasm.br");
const noticesFile = join(dist, "NOTICES");

/** Everything that could change what the compiler writes is set here, whatever the caller's environment says. */
function goEnvironment(toolchain) {
  const environment = {
    ...process.env,
    GOOS: "wasip1",
    GOARCH: "wasm",
    CGO_ENABLED: "0",
    GOFLAGS: "",
    GOWASM: "",
    GOEXPERIMENT: "",
    GOWORK: "off",
  };
  if (toolchain !== null) environment.GOTOOLCHAIN = toolchain;
  return environment;
}

/** Code unit order, the same under every locale. */
function byCodeUnit(left, right) {
  return left < right ? -1 : left > right ? 1 : 0;
}

function run(program, args, toolchain) {
  const result = spawnSync(program, args, {
    cwd: folder,
    env: goEnvironment(toolchain),
    encoding: "utf8",
    maxBuffer: 1 << 28,
  });
  if (result.error !== undefined)
    throw new Error(`${program} cannot be run: ${result.error.message}`);
  if (result.status !== 0)
    throw new Error(`${program} ${args.join(" ")} failed:\n${result.stderr}`);
  return result.stdout;
}

function sha256(bytes) {
  return createHash("sha256").update(bytes).digest("hex");
}

function buildModule(toolchain) {
  const scratch = mkdtempSync(join(tmpdir(), "signalbox-rego-"));
  try {
    const target = join(scratch, "rego.wasm");
    run(
      "go",
      [
        "build",
        "-mod=readonly",
        "-trimpath",
        "-buildvcs=false",
        "-ldflags",
        "-s -w -buildid=",
        "-o",
        target,
        ".",
      ],
      toolchain,
    );
    return readFileSync(target);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** The modules that are linked in, with their folders in the module cache. */
function linkedModules(toolchain) {
  const format = "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}{{end}}";
  const lines = run("go", ["list", "-mod=readonly", "-deps", "-f", format, "."], toolchain).split(
    "\n",
  );
  return [...new Set(lines)]
    .filter((line) => line !== "")
    .toSorted(byCodeUnit)
    .map((line) => line.split("\t"));
}

/** Licence and notice files of a module, also of sources that it has copied in, by path inside the module. */
function licenceFiles(root, below = "") {
  const found = [];
  for (const entry of readdirSync(join(root, below), { withFileTypes: true })) {
    const path = below === "" ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) {
      if (!/^(testdata|docs|node_modules)$/.test(entry.name))
        found.push(...licenceFiles(root, path));
    } else if (/^(licen[cs]e|copying|notice)([-._].*)?$/i.test(entry.name)) found.push(path);
  }
  return found.toSorted(byCodeUnit);
}

/** Licences of the C and C++ sources in OPA's pre-built WASM library, which stand in the headers of its files only. */
function licenceHeaders(root) {
  const headers = new Set();
  for (const entry of readdirSync(join(root, "wasm/src"), {
    recursive: true,
    withFileTypes: true,
  })) {
    if (!entry.isFile() || !/\.(c|cc|h)$/.test(entry.name)) continue;
    const text = readFileSync(join(entry.parentPath ?? entry.path, entry.name), "utf8");
    for (const comment of text.match(/\/\*[^]*?\*\/|(?:^\/\/.*\n)+/gm) ?? []) {
      if (/copyright/i.test(comment)) headers.add(comment.trim());
    }
  }
  return [...headers].toSorted(byCodeUnit);
}

function notices(toolchain, goVersion) {
  const parts = [
    "Licences of what is linked into rego.wasm.br. Written by tools/rego/rebuild.mjs; do not edit.",
  ];
  const goRoot = run("go", ["env", "GOROOT"], toolchain).trim();
  parts.push(
    `${"=".repeat(100)}\nThe Go standard library and runtime (${goVersion})\n${"=".repeat(100)}`,
    readFileSync(join(goRoot, "LICENSE"), "utf8").trim(),
  );
  for (const [name, version, root] of linkedModules(toolchain)) {
    const files = licenceFiles(root);
    if (files.length === 0) throw new Error(`${name} ${version} has no licence file`);
    for (const file of files) {
      parts.push(
        `${"=".repeat(100)}\n${name} ${version}: ${file}\n${"=".repeat(100)}`,
        readFileSync(join(root, file), "utf8").trim(),
      );
    }
    if (name !== "github.com/open-policy-agent/opa") continue;
    parts.push(
      `${"=".repeat(100)}\n${name} ${version}: headers of wasm/src\n${"=".repeat(100)}`,
      ...licenceHeaders(root),
    );
    for (const file of readdirSync(join(folder, "licences")).toSorted(byCodeUnit))
      parts.push(readFileSync(join(folder, "licences", file), "utf8").trim());
  }
  return `${parts.join("\n\n")}\n`.replaceAll("\r\n", "\n").replaceAll(/[ \t]+$/gm, "");
}

function opaVersion(toolchain) {
  return run(
    "go",
    ["list", "-mod=readonly", "-m", "-f", "{{.Version}}", "github.com/open-policy-agent/opa"],
    toolchain,
  ).trim();
}

function check() {
  const manifest = JSON.parse(readFileSync(manifestFile, "utf8"));
  const problems = [];
  const module = buildModule(manifest.go);
  if (sha256(module) !== manifest.wasm_sha256)
    problems.push("the rebuilt module differs from wasm_sha256");
  if (opaVersion(manifest.go) !== manifest.opa)
    problems.push("go.mod names another OPA version than the manifest");
  if (notices(manifest.go, manifest.go) !== readFileSync(noticesFile, "utf8"))
    problems.push("NOTICES is not up to date");
  const compressed = readFileSync(artefactFile);
  if (sha256(compressed) !== manifest.compressed_sha256)
    problems.push("rego.wasm.br differs from compressed_sha256");
  if (sha256(brotliDecompressSync(compressed)) !== manifest.wasm_sha256)
    problems.push("the contents of rego.wasm.br differ from wasm_sha256");
  for (const problem of problems)
    console.error(`tools/rego/dist: ${problem}; run: node tools/rego/rebuild.mjs`);
  if (problems.length === 0)
    console.log(`tools/rego/dist: byte-identical (${manifest.wasm_sha256})`);
  return problems.length === 0 ? 0 : 1;
}

function write() {
  const goVersion = run("go", ["env", "GOVERSION"], null).trim();
  const module = buildModule(null);
  const compressed = brotliCompressSync(module, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
      [constants.BROTLI_PARAM_SIZE_HINT]: module.length,
    },
  });
  const manifest = {
    opa: opaVersion(null),
    go: goVersion,
    wasm_sha256: sha256(module),
    wasm_bytes: module.length,
    compressed_sha256: sha256(compressed),
    compressed_bytes: compressed.length,
  };
  mkdirSync(dist, { recursive: true });
  writeFileSync(artefactFile, compressed);
  writeFileSync(noticesFile, notices(null, goVersion));
  writeFileSync(manifestFile, `${JSON.stringify(manifest, null, 2)}\n`);
  console.log(
    `tools/rego/dist: OPA ${manifest.opa}, ${manifest.go}, ${module.length} bytes, ${compressed.length} compressed`,
  );
  return 0;
}

const args = process.argv.slice(2);
if (args.length > 1 || (args.length === 1 && args[0] !== "--check")) {
  console.error("usage: node tools/rego/rebuild.mjs [--check]");
  process.exit(2);
}
try {
  process.exitCode = args.length === 1 ? check() : write();
} catch (error) {
  console.error(error instanceof Error ? error.message : "rebuild failed");
  process.exitCode = 2;
}
