import { hash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { brotliDecompress } from "node:zlib";
import { ToolchainError } from "./protocol.ts";
import { parseJsonObject } from "../../canon/json.ts";
import { whole, type ValueOf } from "../../canon/json/schema.ts";
import { Validator, type ValidatorOptions } from "../../validation/validator.ts";

interface Artefact {
  readonly manifest: Manifest;
  readonly module: WebAssembly.Module;
}

/**
 * Where the published package and a clone both keep the artefact: two folders up from src/policy
 * and from dist/policy.
 */
export const ARTEFACT_DIRECTORY = new URL("../../../tools/rego/dist/", import.meta.url);

const digest = { type: "string", pattern: "^[0-9a-f]{64}$" } as const;
/** `tools/rego/dist/manifest.json`: the facts of the artefact beside it. */
const MANIFEST_SCHEMA = whole({
  opa: { type: "string", pattern: "^v\\d" },
  go: { type: "string", pattern: "^go\\d" },
  wasm_sha256: digest,
  wasm_bytes: { type: "integer", minimum: 1 },
  compressed_sha256: digest,
  compressed_bytes: { type: "integer", minimum: 1 },
});
type Manifest = ValueOf<typeof MANIFEST_SCHEMA>;

/** How the check of a manifest is compiled. */
export const MANIFEST_CHECK: ValidatorOptions = { schema: MANIFEST_SCHEMA };

const manifests = new Validator<Manifest>(() => MANIFEST_CHECK);

const decompress = promisify(brotliDecompress);
const REBUILD = "reinstall the package, or in a clone run: node tools/rego/rebuild.mjs";

/** @throws {ToolchainError} when the file is missing or not what it should be. */
export async function readManifest(directory: URL): Promise<Manifest> {
  const text = new TextDecoder().decode(await readPart(directory, "manifest.json"));
  const manifest: unknown = parseJsonObject(text);
  if (!manifests.accepts(manifest)) {
    throw new ToolchainError(
      "ARTEFACT_DAMAGED",
      `tools/rego/dist/manifest.json is not a manifest; ${REBUILD}`,
    );
  }
  return manifest;
}

/**
 * Reads, verifies, decompresses and compiles the artefact.
 *
 * @throws {ToolchainError} when a file is missing, or its bytes are not those that the manifest
 * names: nothing runs then.
 */
export async function readArtefact(directory: URL): Promise<Artefact> {
  const [manifest, compressed] = await Promise.all([
    readManifest(directory),
    readPart(directory, "rego.wasm.br"),
  ]);
  if (hash("sha256", compressed, "hex") !== manifest.compressed_sha256) {
    throw new ToolchainError(
      "ARTEFACT_DAMAGED",
      `tools/rego/dist/rego.wasm.br is not the file that its manifest names; ${REBUILD}`,
    );
  }
  // The limit keeps a manifest and an artefact that were both replaced from filling the memory.
  const bytes = await decompress(compressed, { maxOutputLength: manifest.wasm_bytes });
  if (hash("sha256", bytes, "hex") !== manifest.wasm_sha256) {
    throw new ToolchainError(
      "ARTEFACT_DAMAGED",
      `the module in tools/rego/dist/rego.wasm.br is not the one that its manifest names; ${REBUILD}`,
    );
  }
  return { manifest, module: await WebAssembly.compile(Uint8Array.from(bytes)) };
}

async function readPart(directory: URL, name: string): Promise<Uint8Array> {
  try {
    return await readFile(new URL(name, directory));
  } catch {
    throw new ToolchainError(
      "ARTEFACT_MISSING",
      `tools/rego/dist/${name} cannot be read; ${REBUILD}`,
    );
  }
}
