import { hash } from "node:crypto";
import type { Source } from "../canon/diagnostic.ts";
import { canonicalJson, parseJsonObject } from "../canon/json.ts";
import { complete } from "../canon/json/schema.ts";
import type { PolicyContract, StoredContent } from "../canon/policy.ts";
import { buildModules, decideModule, readPolicy } from "./compile-policies.ts";
import {
  policyDigest,
  type CompiledPolicy,
  type PolicyModule,
  type PolicySource,
  type StringUse,
} from "./compiled.ts";
import { ToolchainError } from "./toolchain/protocol.ts";
import { buildDigest, type Toolchain } from "./toolchain/toolchain.ts";
import { unsignedBytes } from "./meter-module.ts";
import { Validator, type ValidatorOptions } from "../validation/validator.ts";

/**
 * How a kept module compares with what its sources compile to here. `same`: byte for byte.
 * `other_compiler`: another version compiled it, so the bytes cannot be compared. `differs`: it
 * claims the same compiler, or none, and has other bytes: it was changed or forged.
 */
const MODULE_AGREEMENTS = ["same", "other_compiler", "differs"] as const;
type ModuleAgreement = (typeof MODULE_AGREEMENTS)[number];

/** A kept content as it may run. */
export interface RecompiledContent {
  /** From the sources, not from the store's description of them. */
  readonly policy: CompiledPolicy;
  /** With this one unit; compiled from the sources. */
  readonly module: PolicyModule;
  readonly agreement: ModuleAgreement;
}

/**
 * Compiles a kept content from its sources. A module of a store is never run: a single write to the
 * store, on any replica or version, could have put other rules under an approved digest.
 *
 * @throws {KeptContentError} where the sources do not make the content of the digest. @throws
 * {ToolchainError} when the installation is damaged.
 */
export async function recompileContent(
  stored: KeptPolicy,
  toolchain: Toolchain,
): Promise<RecompiledContent> {
  const { contract, digest, path, locations } = stored.policy;
  const read = await readPolicy(contract.id, sourcesOf(stored.policy), toolchain);
  if (read?.digest !== digest)
    throw new KeptContentError("its sources do not compile to the content of its digest");
  const policy = { ...read, path, locations };
  const module = await moduleOf(policy, toolchain);
  return { policy, module, agreement: await agreementOf(stored, policy, module) };
}

async function moduleOf(policy: CompiledPolicy, toolchain: Toolchain): Promise<PolicyModule> {
  try {
    const [module] = await buildModules([policy], toolchain);
    if (module !== undefined) return module;
  } catch (error) {
    // Errors in sources; a damaged installation has codes of its own.
    if (!(error instanceof ToolchainError) || error.code !== "TOOLCHAIN_FAILED") throw error;
  }
  throw new KeptContentError("its sources do not compile");
}

async function agreementOf(
  stored: KeptPolicy,
  policy: CompiledPolicy,
  module: PolicyModule,
): Promise<ModuleAgreement> {
  const isSame =
    Buffer.compare(stored.compiled, module.bytes) === 0 &&
    canonicalJson({ ...stored.entrypoints }) === canonicalJson({ ...entrypointsOf(module) });
  if (isSame) return "same";
  return stored.build === (await buildDigest(decideModule([policy]).request))
    ? "differs"
    : "other_compiler";
}

const POLICY_PACKAGE = "signalbox.policy.";
const LIBRARY_PACKAGE = "signalbox.lib.";

/**
 * The files that the sources of a content were. @throws {KeptContentError} for a package that is
 * neither a policy's nor a library's.
 */
function sourcesOf({ contract, sources }: CompiledPolicy): readonly Source[] {
  return sources.map(({ package: name, source: text }) => {
    if (name.startsWith(LIBRARY_PACKAGE))
      return { path: `lib/${name.slice(LIBRARY_PACKAGE.length)}.rego`, text };
    if (name === POLICY_PACKAGE + contract.id.replaceAll("-", "_"))
      return { path: `${contract.id}.rego`, text };
    throw new KeptContentError("its sources are not those of one policy");
  });
}

/**
 * A content that was read from the store. Contract and sources are those of its digest. Everything
 * else is not verified: what runs is compiled from the sources (`recompile.ts`), and the module is
 * there to be compared.
 */
export interface KeptPolicy {
  /** Its path and the locations in it are those of no file. */
  readonly policy: CompiledPolicy;
  /** WebAssembly as it was compiled. */
  readonly compiled: Uint8Array;
  readonly entrypoints: Description["entrypoints"];
  /** Digest of sources and toolchain (`buildDigest`). */
  readonly build: string;
  /** SHA-256 of the module's bytes as kept, lower-case hexadecimal. */
  readonly moduleSha256: string;
}

/** Stored bytes that are not used. The message quotes nothing of the policy. */
export class KeptContentError extends Error {
  override readonly name = "KeptContentError";
}

/**
 * Stored beside the bytes. Members are only ever added; a reader refuses an unknown
 * version.
 */
interface Description {
  readonly version: 1;
  readonly contract: PolicyContract;
  readonly sources: readonly PolicySource[];
  readonly reasoned: readonly string[];
  readonly reads: readonly string[];
  /** Absent from what older releases kept: the policy may. */
  readonly relates?: boolean;
  /** Absent from what older releases kept. */
  readonly hours?: CompiledPolicy["hours"];
  readonly words: StringUse;
  /** `pass` is what older releases look for. */
  readonly entrypoints: { readonly unit: string; readonly pass: string | null };
  /**
   * Digest of sources and toolchain (`buildDigest`): binds the module's bytes to sources and
   * toolchain.
   */
  readonly build: string;
}

const texts = { type: "array", items: { type: "string" } } as const;

/** The contract is held to its digest instead: it was checked when it was digested. */
const DESCRIPTION_SCHEMA = {
  type: "object",
  required: [
    "version",
    "contract",
    "sources",
    "reasoned",
    "reads",
    "words",
    "entrypoints",
    "build",
  ],
  properties: {
    version: { const: 1 },
    contract: {
      type: "object",
      required: ["id", "operations", "constraints", "obligations"],
      properties: {
        operations: texts,
        constraints: { type: "array" },
        obligations: { type: "array" },
      },
    },
    sources: { type: "array", items: { type: "object" } },
    reasoned: texts,
    reads: texts,
    relates: { type: "boolean" },
    hours: { type: ["array", "null"], items: { type: "number" } },
    words: {
      type: "object",
      required: ["strings", "inspects"],
      properties: { strings: texts, inspects: texts, searches: texts },
    },
    entrypoints: complete({ unit: { type: "string" }, pass: { type: ["string", "null"] } }),
    build: { type: "string" },
  },
} as const;

/** How the check of a description is compiled. */
export const DESCRIPTION_CHECK: ValidatorOptions = { schema: DESCRIPTION_SCHEMA };

const descriptions = new Validator<Description>(() => DESCRIPTION_CHECK);

/**
 * The stored form of a content.
 *
 * @param module compiled from this content and no other.
 * @param build `buildDigest` of its compilation.
 */
export function storedContent(
  policy: CompiledPolicy,
  module: PolicyModule,
  build: string,
): StoredContent {
  const [unit, other] = module.units;
  if (unit === undefined || other !== undefined || unit.policy.digest !== policy.digest)
    throw new Error("kept content: a module of other contents");
  const { contract, digest, sources, reasoned, reads, relates, hours, stringUse } = policy;
  const entrypoints = entrypointsOf(module);
  const described = {
    version: 1,
    contract,
    sources,
    reasoned,
    reads,
    relates,
    hours,
    words: stringUse,
    entrypoints,
    build,
  };
  const description = canonicalJson(described);
  return {
    policy: contract.id,
    digest,
    description,
    module: withSection(module.bytes, description),
  };
}

/**
 * Reads what {@link storedContent} wrote.
 *
 * @param moduleSha256 the module's digest in the log.
 * @throws {KeptContentError} where it is not, to the last byte, what was kept under its digest.
 */
export function readStoredContent(
  { policy: id, digest, description: text, module: bytes }: StoredContent,
  moduleSha256: string | null,
): KeptPolicy {
  const sha256 = hash("sha256", bytes, "hex");
  if (sha256 !== moduleSha256)
    throw new KeptContentError("its module differs from the module in the policy log");
  const description = parse(text);
  // The log names the module alone; the description is covered by its SHA-256 because the module
  // contains it.
  if (!endsWith(bytes, section(text)))
    throw new KeptContentError("its description differs from the description in its module");
  const { contract, sources, reasoned, reads, entrypoints, build } = description;
  const { relates = true, hours = null, words: stringUse } = description;
  if (digestOf(description) !== digest || contract.id !== id)
    throw new KeptContentError("its contract and sources do not have its digest");
  const policy = {
    contract,
    digest,
    sources,
    reasoned,
    reads,
    relates,
    hours,
    stringUse,
    path: `${id}.rego`,
    locations: {},
  };
  const compiled = bytes.subarray(0, bytes.length - section(text).length);
  return { policy, compiled, entrypoints, build, moduleSha256: sha256 };
}

/** How a module of one content is evaluated. */
function entrypointsOf({ units }: PolicyModule): Description["entrypoints"] {
  const unit = units[0]?.entrypoint ?? "";
  return { unit, pass: unit };
}

function parse(text: string): Description {
  const read: unknown = parseJsonObject(text);
  if (descriptions.accepts(read)) return read;
  throw new KeptContentError("its description is damaged, or was written by a newer Signalbox");
}

/** `null` for contents that cannot be digested. */
function digestOf({ contract, sources }: Description): string | null {
  try {
    return policyDigest(contract, sources);
  } catch {
    return null;
  }
}

const SECTION_NAME = "signalbox.policy";

/**
 * A custom section of WebAssembly, which engines pass over; the SHA-256 of the module covers it.
 */
function withSection(bytes: Uint8Array, text: string): Uint8Array {
  return Buffer.concat([bytes, section(text)]);
}

function section(text: string): Uint8Array {
  const [name, payload] = [Buffer.from(SECTION_NAME), Buffer.from(text)];
  const length = unsignedBytes(name.length);
  const size = unsignedBytes(length.length + name.length + payload.length);
  return Buffer.concat([Uint8Array.from([0, ...size, ...length]), name, payload]);
}

function endsWith(bytes: Uint8Array, end: Uint8Array) {
  return (
    bytes.length >= end.length &&
    Buffer.compare(bytes.subarray(bytes.length - end.length), end) === 0
  );
}
