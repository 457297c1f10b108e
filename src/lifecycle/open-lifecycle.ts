import { hash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { canonicalJson } from "../canon/json.ts";
import { chainHash, type ChainLink } from "../evidence/chain.ts";
import { StoreUnavailableError } from "../canon/error.ts";
import type { PolicyLogRow, PolicyLogStore, PolicyRecord } from "./records.ts";
import { foldRow, PolicyLogError } from "./fold.ts";
import {
  NO_POLICY_STATES,
  isFault,
  type FileContent,
  type PolicyLifecycle,
  type PolicyStates,
  type Verdict,
} from "./lifecycle.ts";
import { observationRecords } from "./observe.ts";

/** Rows read at a time. */
const PAGE = 500;

/**
 * Attempts after another writer was first, before the caller gets an error; a hundred concurrent
 * writers need fewer.
 */
const ATTEMPTS = 400;

/**
 * Longest random pause between attempts, milliseconds, so that losing writers do not collide again.
 */
const PAUSE = 20;

/**
 * The lifecycle of the policies of one store. Changes by this process wait for each other; against
 * other processes the store's compare-and-append decides.
 *
 * @param clock milliseconds since the epoch. @param pause before it is tried again where another
 * writer was first.
 * @throws {StoreUnavailableError} @throws {PolicyLogError} when the log cannot be read or does not
 * hold.
 */
export async function openLifecycle(
  log: PolicyLogStore,
  clock: () => number,
  pause: () => Promise<void> = randomPause,
): Promise<PolicyLifecycle> {
  const lifecycle = new Lifecycle(log, clock, pause);
  await lifecycle.refresh();
  return lifecycle;
}

class Lifecycle implements PolicyLifecycle {
  readonly #log: PolicyLogStore;
  readonly #clock: () => number;
  readonly #pause: () => Promise<void>;
  #states = NO_POLICY_STATES;
  /** Contents of this process's files when it last recorded them. */
  #files: ReadonlyMap<string, string> | null = null;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(log: PolicyLogStore, clock: () => number, pause: () => Promise<void>) {
    this.#log = log;
    this.#clock = clock;
    this.#pause = pause;
  }

  get states(): PolicyStates {
    return this.#states;
  }

  async refresh(): Promise<PolicyStates> {
    for (;;) {
      const rows = await this.#log.read({ after: this.#states.head.position, limit: PAGE });
      this.#take(rows);
      if (rows.length === 0) await this.#refuseOtherLog();
      if (rows.length < PAGE) return this.#states;
    }
  }

  observe: PolicyLifecycle["observe"] = (contents, occasion, tableRevision) =>
    this.#inTurn(async () => {
      refuseRepeated(contents);
      const before = occasion === "start" ? null : this.#files;
      const isDone = await this.#attempt(async (states) => {
        const at = this.#now();
        const records = observationRecords(states, { contents, before, tableRevision, at });
        return records.length === 0 || (await this.#append(states.head, records));
      });
      if (!isDone)
        throw new StoreUnavailableError(
          "too many processes are writing the policy log at once; try again",
          { done: "no" },
        );
      this.#files = new Map(contents.map(({ policy, digest }) => [policy, digest]));
      return this.#states;
    });

  change: PolicyLifecycle["change"] = (judge) =>
    this.#inTurn(async () => {
      let verdict: Verdict = null;
      try {
        const isDone = await this.#attempt(async (states) => {
          verdict = await this.#orMissing(await judge(states, this.#now()));
          return verdict === null || isFault(verdict) || this.#append(states.head, [verdict]);
        });
        return isDone ? verdict : { fault: "busy" };
      } catch (error) {
        if (error instanceof StoreUnavailableError || error instanceof PolicyLogError)
          return { fault: "unavailable" };
        throw error;
      }
    });

  /**
   * After a backup was restored under a running process, it would wait for ever for missing rows.
   */
  async #refuseOtherLog() {
    const [known, head] = [this.#states.head, await this.#log.head()];
    const isSame =
      head.position > known.position ||
      (head.position === known.position && head.hash === known.hash);
    if (!isSame) {
      throw new PolicyLogError(
        "the policy log is not the one that this process has read (was a backup restored?); restart the server to use it",
      );
    }
  }

  /**
   * A fault instead where the stored bytes of the content to enforce are not those that the log
   * names: damaged content must not be enforced anywhere.
   */
  async #orMissing(verdict: Verdict): Promise<Verdict> {
    if (verdict === null || !("to" in verdict) || verdict.to?.module == null) return verdict;
    const { digest, module, revision } = verdict.to;
    const content = await this.#log.content(digest);
    const isKept = content !== null && hash("sha256", content.module, "hex") === module;
    return isKept ? verdict : { fault: "no_bytes", revision };
  }

  /** Tries again, on the newest states, while another writer is first; `false`: too many were. */
  async #attempt(attempt: (states: PolicyStates) => Promise<boolean>): Promise<boolean> {
    for (let count = 0; count < ATTEMPTS; count += 1) {
      if (await attempt(await this.refresh())) return true;
      await this.#pause();
    }
    return false;
  }

  /** `false`: another writer has added rows meanwhile. */
  async #append(head: ChainLink, records: readonly PolicyRecord[]): Promise<boolean> {
    const rows: PolicyLogRow[] = [];
    let last = head;
    for (const value of records) {
      const record = canonicalJson(value);
      const position = last.position + 1;
      const row = {
        position,
        previous: last.hash,
        hash: chainHash(last.hash, position, "policy", record),
        record,
      };
      rows.push(row);
      last = row;
    }
    if (!(await this.#log.append(head, rows))) return false;
    this.#take(rows);
    return true;
  }

  /** Skips rows that another read has applied already. */
  #take(rows: readonly PolicyLogRow[]) {
    for (const row of rows) {
      if (row.position > this.#states.head.position) this.#states = foldRow(this.#states, row);
    }
  }

  #now() {
    return Math.trunc(this.#clock());
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const next = this.#turn.then(work, work);
    this.#turn = next.catch(() => undefined);
    return next;
  }
}

async function randomPause() {
  await delay(Math.random() * PAUSE);
}

function refuseRepeated(contents: readonly FileContent[]) {
  const seen = new Set<string>();
  for (const { policy } of contents) {
    if (seen.has(policy))
      throw new RangeError(`policy ${policy} is given twice; give each policy once`);
    seen.add(policy);
  }
}
