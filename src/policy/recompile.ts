import { canonicalJson } from "../canon/json.ts";
import type { Source } from "../canon/diagnostic.ts";
import { buildModules, readPolicy } from "./compile-policies.ts";
import type { CompiledPolicy, PolicyModule } from "./compiled.ts";
import { decideModule } from "./decide-module.ts";
import { entrypointsOf, KeptContentError, type KeptPolicy } from "./kept-content.ts";
import { ToolchainError } from "./toolchain/protocol.ts";
import { buildDigest, type Toolchain } from "./toolchain/toolchain.ts";

/**
 * How a kept module compares with what its sources compile to here. `same`: byte for byte.
 * `other_compiler`: another version compiled it, so the bytes cannot be compared. `differs`: it
 * claims the same compiler, or none, and has other bytes: it was changed or forged.
 */
const MODULE_AGREEMENTS = ["same", "other_compiler", "differs"] as const;
export type ModuleAgreement = (typeof MODULE_AGREEMENTS)[number];

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
  kept: KeptPolicy,
  toolchain: Toolchain,
): Promise<RecompiledContent> {
  const { contract, digest, path, locations } = kept.policy;
  const read = await readPolicy(contract.id, sourcesOf(kept.policy), toolchain);
  if (read?.digest !== digest)
    throw new KeptContentError("its sources do not compile to the content of its digest");
  const policy = { ...read, path, locations };
  const module = await moduleOf(policy, toolchain);
  return { policy, module, agreement: await agreementOf(kept, policy, module) };
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
  kept: KeptPolicy,
  policy: CompiledPolicy,
  module: PolicyModule,
): Promise<ModuleAgreement> {
  const isSame =
    Buffer.compare(kept.compiled, module.bytes) === 0 &&
    canonicalJson({ ...kept.entrypoints }) === canonicalJson({ ...entrypointsOf(module) });
  if (isSame) return "same";
  return kept.build === (await buildDigest(decideModule([policy]).request))
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
