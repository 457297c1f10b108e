import { hash } from "node:crypto";
import type { RoutingTable } from "../../canon/table.ts";
import type { FileContent, PolicyStates } from "../../lifecycle/lifecycle.ts";
import type { CompiledPolicy, PolicyModule } from "../../policy/compiled.ts";
import {
  buildModules,
  decideModule,
  type CompiledPolicies,
} from "../../policy/compile-policies.ts";
import { initialMode } from "../../policy/input-schema.ts";
import { storedContent } from "../../policy/kept-content.ts";
import type { CompileCache } from "../../policy/toolchain/compile-cache.ts";
import { buildDigest } from "../../policy/toolchain/toolchain.ts";
import type { PolicyLogStore } from "../../lifecycle/records.ts";
import { contentsToolchain } from "./slots.ts";

/**
 * From so many on contents are compiled side by side: a thread of the toolchain takes longer to
 * begin than a policy to compile.
 */
const MANY = 8;

/**
 * Contents of the files, in the types of the log. Content that the store does not keep is compiled
 * alone and kept first, so that it can act after the files have changed. Its module comes from this
 * process or from the authenticated cache of its user.
 *
 * @param states known already; contents of it are neither compiled nor read.
 * @throws {StoreUnavailableError} @throws {ToolchainError}
 */
export async function keepFileContents(
  log: PolicyLogStore,
  states: PolicyStates,
  table: RoutingTable,
  compiled: CompiledPolicies,
  cache: CompileCache | null,
): Promise<readonly FileContent[]> {
  const toolchain = contentsToolchain(cache);
  const built = async (policy: CompiledPolicy): Promise<PolicyModule | undefined> =>
    moduleOfOne(compiled, policy) ?? (await buildModules([policy], toolchain))[0];
  const contentOf = async (policy: CompiledPolicy): Promise<FileContent> => {
    const { id } = policy.contract;
    const module = keptModule(states, policy) ?? (await keep(log, policy, () => built(policy)));
    return { policy: id, digest: policy.digest, module, initialMode: initialMode(table, id) };
  };
  const { policies } = compiled;
  if (policies.filter((policy) => keptModule(states, policy) === null).length >= MANY)
    return await Promise.all(policies.map(contentOf));
  const contents: FileContent[] = [];
  for (const policy of policies) contents.push(await contentOf(policy));
  return contents;
}

/** SHA-256 of the module that the log names and the store keeps. */
function keptModule(states: PolicyStates, { contract, digest }: CompiledPolicy) {
  return states.policies.get(contract.id)?.contents.get(digest)?.module ?? null;
}

/** The only policy of the files has been compiled alone already. */
function moduleOfOne({ modules }: CompiledPolicies, { digest }: CompiledPolicy) {
  return modules.find(({ units }) => units.length === 1 && units[0]?.policy.digest === digest);
}

/**
 * Gives the SHA-256 of the module that the store has afterwards: another process may have been
 * quicker, with bytes of another version.
 */
async function keep(
  log: PolicyLogStore,
  policy: CompiledPolicy,
  build: () => Promise<PolicyModule | undefined>,
): Promise<string> {
  let kept = await log.content(policy.digest);
  if (kept === null) {
    const module = await build();
    if (module === undefined) throw new Error("serve: a policy without a module");
    await log.keep(
      storedContent(policy, module, await buildDigest(decideModule([policy]).request)),
    );
    kept = await log.content(policy.digest);
  }
  if (kept === null) throw new Error("serve: the store does not have what it has just kept");
  return hash("sha256", kept.module, "hex");
}
