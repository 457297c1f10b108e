import type { PolicyIdentity, PolicySet } from "../../canon/policy.ts";
import type {
  KeptContent,
  PolicyAdministration,
} from "../../http/control/policies/administration.ts";
import type { SnapshotHolder } from "../../http/snapshot.ts";
import type { FileContent, PolicyLifecycle } from "../../lifecycle/lifecycle.ts";
import { compileConfiguration } from "../../compile/compile.ts";
import { compileOnThread } from "../../compile/compile-on-thread.ts";
import { policySetId } from "../../policy/compiled.ts";
import { SuspendedCandidates } from "../../policy/loaded-modules.ts";
import { promotionSimulator } from "../../simulate/promotion-simulator.ts";
import type { PolicyLogStore } from "../../lifecycle/records.ts";
import {
  readGround,
  snapshotOf,
  type BuiltSnapshot,
  type Ground,
  type SnapshotSupply,
} from "../snapshots.ts";
import { keepFileContents } from "./file-contents.ts";
import {
  ContentUnusableError,
  assembleSlots,
  driftsOf,
  keptContent,
  keptModules,
  slotsOf,
  type PolicyDrift,
} from "./slots.ts";
import { simulatePromotionOf } from "./promotion-simulation.ts";

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

  function listen(listener: PolicyListener): void {
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
  function apply(): Promise<void> {
    return inTurn(applyNewest);
  }

  async function prepare(
    compile: typeof compileConfiguration,
  ): Promise<Prepared | Extract<BuiltSnapshot, { ok: false }>> {
    const read = await readGround(supply, compile);
    if (!read.ok) return read;
    const { ground } = read;
    const known = await lifecycle.refresh();
    const contents = await keepFileContents(
      log,
      known,
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
