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
  KeptModules,
  assembleSlots,
  driftsOf,
  keptContent,
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
  readonly left: readonly ContentUnusableError[];
}

/**
 * Makes this process decide by the slots of the log: at a start and a reload with the contents of
 * the files, and whenever this or another process writes to the log. One at a time, so that an
 * older reading never replaces a newer one.
 */
export class ServedPolicies {
  readonly #supply: SnapshotSupply;
  readonly #log: PolicyLogStore;
  readonly #lifecycle: PolicyLifecycle;
  readonly #simulator = promotionSimulator();
  readonly #listeners: PolicyListener[] = [];
  /**
   * Outlives sets and reloads: a candidate is tried again when its content changes, or after a
   * start.
   */
  readonly #suspended = new SuspendedCandidates((candidate) => {
    for (const { suspended } of this.#listeners) suspended(candidate);
  });
  readonly #kept: KeptModules;
  #status: PolicyStatus | null = null;
  #snapshots: SnapshotHolder | null = null;
  #reloads: Promise<unknown> = Promise.resolve();
  #turn: Promise<unknown> = Promise.resolve();
  #isWaiting = false;
  #retry: NodeJS.Timeout | null = null;
  #failure: string | null = null;
  #isClosed = false;

  constructor(supply: SnapshotSupply, log: PolicyLogStore, lifecycle: PolicyLifecycle) {
    this.#supply = supply;
    this.#log = log;
    this.#lifecycle = lifecycle;
    this.#kept = new KeptModules(log, supply.cache, (digest) => {
      const status = [...this.#lifecycle.states.policies.values()].find(({ contents }) =>
        contents.has(digest),
      );
      if (status === undefined) return;
      for (const { differing } of this.#listeners)
        differing({ policy: status.id, drift: "module_differs" });
    });
  }

  /** Whether the running set differs from the log. */
  get isBehind(): boolean {
    return this.#failure !== null;
  }

  /** For those who change policies over HTTP. */
  get administration(): Pick<
    PolicyAdministration,
    "lifecycle" | "apply" | "content" | "simulate" | "files" | "suspended" | "differing"
  > {
    return {
      lifecycle: this.#lifecycle,
      apply: () => this.apply(),
      content: (digest) => this.#content(digest),
      simulate: (policy, digest) => this.#simulate(policy, digest),
      files: () => this.#status?.files ?? new Map(),
      differing: () => this.#kept.differing,
      suspended: () => {
        const policies = this.#snapshots?.current.decider.policies.policies ?? [];
        return policies.flatMap(({ identity }) => {
          return identity.slot === "candidate" && this.#suspended.has(identity.digest)
            ? [identity]
            : [];
        });
      },
    };
  }

  listen(listener: PolicyListener): void {
    this.#listeners.push(listener);
    // A candidate that could not be loaded at the start.
    if (this.#status !== null && this.#status.left.length > 0) listener.failed(this.#status.left);
  }

  /**
   * Makes the first snapshot.
   *
   * @throws {ContentUnusableError} for an enforced content whose bytes cannot be had. @throws
   * {StoreUnavailableError} @throws {ToolchainError}
   */
  async start(): Promise<BuiltSnapshot> {
    const prepared = await this.#prepare(compileConfiguration);
    return prepared.ok ? await this.#install(prepared, "start") : prepared;
  }

  /**
   * From now on the log is followed.
   *
   * @param snapshots holds the snapshot of {@link start}. @returns ends it; waits for running work.
   */
  async follow(snapshots: SnapshotHolder): Promise<() => Promise<void>> {
    this.#snapshots = snapshots;
    const unwatch = await this.#log.watch(() => this.#applySoon());
    // Rows written between the start and the first read.
    this.#applySoon();
    this.#kept.verify(this.#lifecycle.states);
    return async () => {
      this.#isClosed = true;
      unwatch();
      if (this.#retry !== null) clearTimeout(this.#retry);
      await Promise.all([this.#reloads, this.#turn, this.#kept.close()]);
    };
  }

  /**
   * Reads the files again; swaps on success, keeps the running set on failure. @throws as {@link
   * start}.
   */
  reload(): Promise<BuiltSnapshot> {
    const reload = async (): Promise<BuiltSnapshot> => {
      // Compiling takes seconds, and a promotion does not wait for it.
      const prepared = await this.#prepare(compileOnThread);
      return prepared.ok ? await this.#inTurn(() => this.#install(prepared, "reload")) : prepared;
    };
    const next = this.#reloads.then(reload);
    this.#reloads = next.catch(() => undefined);
    return next;
  }

  /**
   * Decides by the newest rows of the log from now on. @throws {ContentUnusableError} @throws
   * {StoreUnavailableError} and keeps the running set.
   */
  apply(): Promise<void> {
    return this.#inTurn(() => this.#apply());
  }

  async #prepare(
    compile: typeof compileConfiguration,
  ): Promise<Prepared | Extract<BuiltSnapshot, { ok: false }>> {
    const read = await readGround(this.#supply, compile);
    if (!read.ok) return read;
    const { ground } = read;
    const known = await this.#lifecycle.refresh();
    const contents = await keepFileContents(
      this.#log,
      known,
      ground.table,
      ground.compiled,
      this.#supply.cache,
    );
    return { ok: true, ground, contents };
  }

  async #install(
    { ground, contents }: Prepared,
    occasion: "start" | "reload",
  ): Promise<BuiltSnapshot> {
    const { table, modules, diagnostics, simulated, disabled } = ground;
    const states = await this.#lifecycle.observe(contents, occasion, table.revision);
    const { set, left } = await assembleSlots(modules, states, this.#kept, this.#suspended);
    const files = new Map(contents.map(({ policy, digest }) => [policy, digest]));
    const snapshot = snapshotOf(ground, set, this.#supply.pools);
    this.#status = { ground, files, left };
    this.#snapshots?.swap(snapshot);
    this.#report(left);
    if (this.#snapshots !== null) this.#kept.verify(states);
    return {
      ok: true,
      snapshot,
      drifts: driftsOf(states, files, this.#kept.differing),
      diagnostics,
      simulated,
      disabled,
    };
  }

  async #apply(): Promise<void> {
    const states = await this.#lifecycle.refresh();
    const [status, snapshots] = [this.#status, this.#snapshots];
    if (status === null || snapshots === null || this.#isClosed) return;
    const { id } = snapshots.current.decider.policies;
    if (policySetId(slotsOf(states)) === id) return this.#report([]);
    const { set, left } = await assembleSlots(
      status.ground.modules,
      states,
      this.#kept,
      this.#suspended,
    );
    this.#status = { ...status, left };
    this.#kept.verify(states);
    if (set.id !== id) {
      snapshots.swap(snapshotOf(status.ground, set, this.#supply.pools));
      for (const { swapped } of this.#listeners) swapped(set);
    }
    this.#report(left);
  }

  /** One look for any number of rows that come at once. */
  #applySoon() {
    if (this.#isWaiting || this.#isClosed) return;
    this.#isWaiting = true;
    const apply = (): Promise<void> => {
      // Rows that come from now on are looked at once more.
      this.#isWaiting = false;
      return this.#apply();
    };
    // Its failure has been reported, and is tried again.
    this.#inTurn(apply).catch(() => undefined);
  }

  async #content(digest: string): Promise<KeptContent | null> {
    const kept = await keptContent(this.#lifecycle.states, digest, this.#log);
    if (kept === null) return null;
    const { policy, moduleSha256 } = kept;
    return { digest, moduleSha256, contract: policy.contract, sources: policy.sources };
  }

  #simulate(policy: string, digest: string): ReturnType<PolicyAdministration["simulate"]> {
    if (this.#status === null) throw new Error("policies: a simulation before the first snapshot");
    const { table, assertions } = this.#status.ground;
    const context = { table, assertions, states: this.#lifecycle.states, kept: this.#kept };
    return simulatePromotionOf(this.#simulator, policy, digest, context);
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const attempt = async (): Promise<Result> => {
      try {
        return await work();
      } catch (error) {
        this.#fail(error instanceof ContentUnusableError ? [error] : []);
        throw error;
      }
    };
    const next = this.#turn.then(attempt);
    this.#turn = next.catch(() => undefined);
    return next;
  }

  #report(left: readonly ContentUnusableError[]): void {
    if (left.length > 0) return this.#fail(left);
    if (this.#failure === null) return;
    this.#failure = null;
    for (const { recovered } of this.#listeners) recovered();
  }

  #fail(contents: readonly ContentUnusableError[]) {
    const failure = contents.map(({ message }) => message).join("\n");
    if (failure !== this.#failure) for (const { failed } of this.#listeners) failed(contents);
    this.#failure = failure;
    if (this.#retry !== null) clearTimeout(this.#retry);
    if (this.#isClosed) return;
    this.#retry = setTimeout(() => this.#applySoon(), RETRY);
    this.#retry.unref();
  }
}
