import type { PolicyIdentity, PolicySet } from "../../canon/policy.ts";
import type {
  KeptContent,
  PolicyAdministration,
} from "../../http/control/policies/administration.ts";
import type { SnapshotHolder } from "../../http/snapshot.ts";
import {
  contentOf,
  type FileContent,
  type PolicyLifecycle,
  type PolicyStates,
} from "../../lifecycle/lifecycle.ts";
import { compileConfiguration } from "../../compile/compile.ts";
import { compileOnThread } from "../../compile/compile-on-thread.ts";
import { type CompiledPolicy, type PolicyModule, policySetId } from "../../policy/compiled.ts";
import { SuspendedCandidates } from "../../policy/loaded-modules.ts";
import { promotionSimulator, type PromotionSimulator } from "../../simulate/promotion-simulator.ts";
import type { PolicyLogStore } from "../../lifecycle/records.ts";
import {
  type BuiltSnapshot,
  type Ground,
  readGround,
  snapshotOf,
  type SnapshotSupply,
} from "../snapshots.ts";
import {
  assembleSlots,
  contentsToolchain,
  ContentUnusableError,
  driftsOf,
  keptContent,
  keptModules,
  type KeptModules,
  type PolicyDrift,
  slotsOf,
} from "./slots.ts";
import { hash } from "node:crypto";
import type { RoutingTable } from "../../canon/table.ts";
import {
  buildModules,
  type CompiledPolicies,
  decideModule,
} from "../../policy/compile-policies.ts";
import { initialMode } from "../../policy/input-schema.ts";
import {
  KeptContentError,
  type RecompiledContent,
  storedContent,
} from "../../policy/kept-content.ts";
import type { CompileCache } from "../../policy/toolchain/compile-cache.ts";
import { buildDigest } from "../../policy/toolchain/toolchain.ts";
import { canonicalJson } from "../../canon/json.ts";
import type { PromotionInput } from "../../simulate/simulate-promotion.ts";
import { StoreUnavailableError } from "../../canon/error.ts";

/** How long after a failure it is tried again, milliseconds. */
const RETRY = 1_000;

/** Listeners to changes of the serving set. */
export interface PolicyListener {
  /** A set replaced another under the same table. */
  readonly swapped: (set: PolicySet) => void;
  /**
   * The running set differs from the log. Called once for each failure, however often it is
   * retried.
   *
   * @param contents that cannot be had; none where the log itself cannot be read.
   */
  readonly failed: (contents: readonly ContentUnusableError[]) => void;
  readonly recovered: () => void;
  /**
   * A candidate is not evaluated any more: its evaluations took more than they may, again and
   * again.
   */
  readonly suspended: (candidate: PolicyIdentity) => void;
  /** The store keeps a module that the content's sources do not compile to. It is not run. */
  readonly differing: (drift: PolicyDrift) => void;
}

/** Files that were read and whose contents are kept, before they are written to the log. */
interface Prepared {
  readonly ok: true;
  readonly ground: Ground;
  readonly contents: readonly FileContent[];
}

/** Inputs of the current snapshot. */
interface PolicyStatus {
  readonly ground: Ground;
  readonly files: ReadonlyMap<string, string>;
  readonly unusable: readonly ContentUnusableError[];
}

export type ServedPolicies = ReturnType<typeof servePolicies>;

/**
 * Makes this process decide by the slots of the log: at a start and a reload with the contents of
 * the files, and whenever this or another process writes to the log. One at a time, so that an
 * older reading never replaces a newer one.
 */
export function servePolicies(
  supply: SnapshotSupply,
  log: PolicyLogStore,
  lifecycle: PolicyLifecycle,
) {
  const simulator = promotionSimulator();
  const listeners: PolicyListener[] = [];

  /**
   * Outlives sets and reloads: a candidate is tried again when its content changes, or after a
   * start.
   */
  const suspended = new SuspendedCandidates((candidate) => {
    for (const listener of listeners) listener.suspended(candidate);
  });

  const kept = keptModules(log, supply.cache, (digest) => {
    for (const { id, contents } of lifecycle.states.policies.values()) {
      if (!contents.has(digest)) continue;
      for (const { differing } of listeners) differing({ policy: id, drift: "module_differs" });
      return;
    }
  });

  let status: PolicyStatus | null = null;
  let snapshots: SnapshotHolder | null = null;
  let reloads: Promise<unknown> = Promise.resolve();
  let turn: Promise<unknown> = Promise.resolve();
  let isWaiting = false;
  let retry: NodeJS.Timeout | null = null;
  let failure: string | null = null;
  let isClosed = false;

  function listen(listener: PolicyListener) {
    listeners.push(listener);
    // A candidate that could not be loaded at the start.
    if (status !== null && status.unusable.length > 0) listener.failed(status.unusable);
  }

  /**
   * Makes the first snapshot.
   *
   * @throws {ContentUnusableError} for an enforced content whose bytes cannot be had. @throws
   * {StoreUnavailableError} @throws {ToolchainError}
   */
  async function start(): Promise<BuiltSnapshot> {
    const prepared = await prepare(compileConfiguration);
    return prepared.ok ? await install(prepared, "start") : prepared;
  }

  /**
   * From now on the log is followed.
   *
   * @param holder of the snapshot of {@link start}. @returns ends it; waits for running work.
   */
  async function follow(holder: SnapshotHolder): Promise<() => Promise<void>> {
    snapshots = holder;
    const unwatch = await log.watch(applySoon);
    // Rows written between the start and the first read.
    applySoon();
    kept.verify(lifecycle.states);
    return async () => {
      isClosed = true;
      unwatch();
      if (retry !== null) clearTimeout(retry);
      await Promise.all([reloads, turn, kept.close()]);
    };
  }

  /**
   * Reads the files again; swaps on success, keeps the running set on failure. @throws as {@link
   * start}.
   */
  function reload(): Promise<BuiltSnapshot> {
    const next = reloads.then(async () => {
      // Compiling takes seconds, and a promotion does not wait for it.
      const prepared = await prepare(compileOnThread);
      return prepared.ok ? await inTurn(() => install(prepared, "reload")) : prepared;
    });
    reloads = next.catch(() => undefined);
    return next;
  }

  /**
   * Decides by the newest rows of the log from now on. @throws {ContentUnusableError} @throws
   * {StoreUnavailableError} and keeps the running set.
   */
  function apply() {
    return inTurn(applyNewest);
  }

  async function prepare(
    compile: typeof compileConfiguration,
  ): Promise<Prepared | Extract<BuiltSnapshot, { ok: false }>> {
    const read = await readGround(supply, compile);
    if (!read.ok) return read;
    const { ground } = read;
    const policyStates = await lifecycle.refresh();
    const contents = await keepFileContents(
      log,
      policyStates,
      ground.table,
      ground.compiled,
      supply.cache,
    );
    return { ok: true, ground, contents };
  }

  async function install(
    { ground, contents }: Prepared,
    occasion: "start" | "reload",
  ): Promise<BuiltSnapshot> {
    const { table, modules, diagnostics, simulated, disabled } = ground;
    const states = await lifecycle.observe(contents, occasion, table.revision);
    const { set, unusable } = await assembleSlots(modules, states, kept, suspended);
    const files = new Map(contents.map(({ policy, digest }) => [policy, digest]));
    const snapshot = snapshotOf(ground, set, supply.pools);
    status = { ground, files, unusable };
    snapshots?.swap(snapshot);
    report(unusable);
    if (snapshots !== null) kept.verify(states);
    return {
      ok: true,
      snapshot,
      drifts: driftsOf(states, files, kept.differing()),
      diagnostics,
      simulated,
      disabled,
    };
  }

  async function applyNewest(): Promise<void> {
    const states = await lifecycle.refresh();
    if (status === null || snapshots === null || isClosed) return;
    const { id } = snapshots.current.decider.policies;
    if (policySetId(slotsOf(states)) === id) return report([]);
    const { set, unusable } = await assembleSlots(status.ground.modules, states, kept, suspended);
    status = { ...status, unusable };
    kept.verify(states);
    if (set.id !== id) {
      snapshots.swap(snapshotOf(status.ground, set, supply.pools));
      for (const { swapped } of listeners) swapped(set);
    }
    report(unusable);
  }

  /** One look for any number of rows that come at once. */
  function applySoon() {
    if (isWaiting || isClosed) return;
    isWaiting = true;
    inTurn(() => {
      // Rows that come from now on are looked at once more.
      isWaiting = false;
      return applyNewest();
      // Its failure has been reported, and is tried again.
    }).catch(() => undefined);
  }

  async function content(digest: string): Promise<KeptContent | null> {
    const found = await keptContent(lifecycle.states, digest, log);
    if (found === null) return null;
    const { policy, moduleSha256 } = found;
    return { digest, moduleSha256, contract: policy.contract, sources: policy.sources };
  }

  function simulate(policy: string, digest: string): ReturnType<PolicyAdministration["simulate"]> {
    if (status === null) throw new Error("policies: a simulation before the first snapshot");
    const { table, assertions } = status.ground;
    const context = { table, assertions, states: lifecycle.states, kept };
    return simulatePromotionOf(simulator, policy, digest, context);
  }

  function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const attempt = async (): Promise<Result> => {
      try {
        return await work();
      } catch (error) {
        fail(error instanceof ContentUnusableError ? [error] : []);
        throw error;
      }
    };
    const next = turn.then(attempt);
    turn = next.catch(() => undefined);
    return next;
  }

  function report(unusable: readonly ContentUnusableError[]): void {
    if (unusable.length > 0) return fail(unusable);
    if (failure === null) return;
    failure = null;
    for (const { recovered } of listeners) recovered();
  }

  function fail(contents: readonly ContentUnusableError[]) {
    const messages = contents.map(({ message }) => message).join("\n");
    if (messages !== failure) for (const { failed } of listeners) failed(contents);
    failure = messages;
    if (retry !== null) clearTimeout(retry);
    if (isClosed) return;
    retry = setTimeout(applySoon, RETRY);
    retry.unref();
  }

  return {
    listen,
    start,
    follow,
    reload,
    apply,
    /** Whether the running set differs from the log. */
    isBehind: () => failure !== null,
    /** For those who change policies over HTTP. */
    administration: {
      lifecycle,
      apply,
      content,
      simulate,
      files: () => status?.files ?? new Map(),
      differing: kept.differing,
      suspended: () => {
        const policies = snapshots?.current.decider.policies.policies ?? [];
        return policies
          .map(({ identity }) => identity)
          .filter(({ slot, digest }) => slot === "candidate" && suspended.has(digest));
      },
    } satisfies Partial<PolicyAdministration>,
  };
}

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
async function keepFileContents(
  log: PolicyLogStore,
  states: PolicyStates,
  table: RoutingTable,
  compiled: CompiledPolicies,
  cache: CompileCache | null,
): Promise<readonly FileContent[]> {
  const toolchain = contentsToolchain(cache);
  const built = async (policy: CompiledPolicy): Promise<PolicyModule | undefined> =>
    moduleOfOne(compiled, policy) ?? (await buildModules([policy], toolchain))[0];
  const ensureKept = async (policy: CompiledPolicy): Promise<FileContent> => {
    const { id } = policy.contract;
    const module = keptModule(states, policy) ?? (await keep(log, policy, () => built(policy)));
    return { policy: id, digest: policy.digest, module, initialMode: initialMode(table, id) };
  };
  const { policies } = compiled;
  if (policies.filter((policy) => keptModule(states, policy) === null).length >= MANY)
    return await Promise.all(policies.map(ensureKept));
  const contents: FileContent[] = [];
  for (const policy of policies) contents.push(await ensureKept(policy));
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
  let stored = await log.content(policy.digest);
  if (stored === null) {
    const module = await build();
    if (module === undefined) throw new Error("serve: a policy without a module");
    await log.keep(
      storedContent(policy, module, await buildDigest(decideModule([policy]).request)),
    );
    stored = await log.content(policy.digest);
  }
  if (stored === null) throw new Error("serve: the store does not have what it has just kept");
  return hash("sha256", stored.module, "hex");
}

/**
 * Milliseconds. Waivers of assertions end with a day (UTC), so all simulations of one day are the
 * same.
 */
const DAY = 86_400_000;

/** The serving snapshot and the policy log at the moment of the simulation. */
interface SimulationContext {
  readonly table: RoutingTable;
  readonly assertions: Ground["assertions"];
  readonly states: PolicyStates;
  readonly kept: Pick<KeptModules, "recompiled">;
}

/** `PolicyAdministration.simulate`. */
async function simulatePromotionOf(
  simulator: PromotionSimulator,
  policy: string,
  digest: string,
  { table, assertions, states, kept }: SimulationContext,
): ReturnType<PolicyAdministration["simulate"]> {
  const status = states.policies.get(policy);
  const content = status?.contents.get(digest);
  if (status === undefined || content === undefined) return "unknown_content";
  if (
    status.enforced?.digest === digest ||
    (status.enforced === null && content.content === "removal")
  )
    return "no_change";
  if (assertions === "unreadable") return "assertions_invalid";
  const enforced = enforcedContents(states);
  const now = Math.floor(Date.now() / DAY) * DAY;
  const input = async (): Promise<PromotionInput> => {
    const acting: RecompiledContent[] = [];
    for (const one of enforced) acting.push(await kept.recompiled(states, one.policy, one.digest));
    const candidate =
      content.content === "removal" ? null : await kept.recompiled(states, policy, digest);
    return {
      table,
      enforced: acting.map((one) => one.policy),
      policy,
      candidate: candidate?.policy ?? null,
      modules: [...acting, candidate].flatMap((one) => one?.module ?? []),
      assertions,
      now,
    };
  };
  const key = canonicalJson([
    table.revision,
    assertions && { path: assertions.path, sha256: hash("sha256", assertions.text, "hex") },
    now,
    policy,
    digest,
    enforced.map((one) => one.digest),
  ]);
  const simulation = await simulator.simulate(key, input).catch((error: unknown) => {
    if (error instanceof StoreUnavailableError || error instanceof KeptContentError)
      return "unavailable" as const;
    throw error;
  });
  if (typeof simulation === "string") return simulation;
  return {
    ...simulation,
    tableRevision: table.revision,
    enforced: status.enforced?.digest ?? null,
  };
}

/** Of everything with rules that is enforced, by policy. */
function enforcedContents(
  states: PolicyStates,
): readonly { readonly policy: string; readonly digest: string }[] {
  return [...states.policies.values()].flatMap((status) => {
    if (status.enforced === null || contentOf(status, status.enforced.digest).content === "removal")
      return [];
    return [{ policy: status.id, digest: status.enforced.digest }];
  });
}
