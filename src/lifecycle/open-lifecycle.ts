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
  let states = NO_POLICY_STATES;
  /** Contents of this process's files when it last recorded them. */
  let files: ReadonlyMap<string, string> | null = null;
  let turn: Promise<unknown> = Promise.resolve();

  async function refresh(): Promise<PolicyStates> {
    for (;;) {
      const rows = await log.read({ after: states.head.position, limit: PAGE });
      take(rows);
      if (rows.length === 0) await refuseOtherLog();
      if (rows.length < PAGE) return states;
    }
  }

  const observe: PolicyLifecycle["observe"] = (contents, occasion, tableRevision) =>
    inTurn(async () => {
      refuseRepeated(contents);
      const before = occasion === "start" ? null : files;
      const isAppended = await attempt(async (newest) => {
        const at = now();
        const records = observationRecords(newest, { contents, before, tableRevision, at });
        return records.length === 0 || (await append(newest.head, records));
      });
      if (!isAppended)
        throw new StoreUnavailableError(
          "too many processes are writing the policy log at once; try again",
          { applied: "no" },
        );
      files = new Map(contents.map(({ policy, digest }) => [policy, digest]));
      return states;
    });

  const change: PolicyLifecycle["change"] = (judge) =>
    inTurn(async () => {
      let verdict: Verdict = null;
      try {
        const isAppended = await attempt(async (newest) => {
          verdict = await orMissing(await judge(newest, now()));
          return verdict === null || isFault(verdict) || append(newest.head, [verdict]);
        });
        return isAppended ? verdict : { fault: "busy" };
      } catch (error) {
        if (error instanceof StoreUnavailableError || error instanceof PolicyLogError)
          return { fault: "unavailable" };
        throw error;
      }
    });

  /**
   * After a backup was restored under a running process, it would wait for ever for missing rows.
   */
  async function refuseOtherLog() {
    const [lastRead, head] = [states.head, await log.head()];
    const isContinuous =
      head.position > lastRead.position ||
      (head.position === lastRead.position && head.hash === lastRead.hash);
    if (!isContinuous) {
      throw new PolicyLogError(
        "the policy log is not the one that this process has read (was a backup restored?); restart the server to use it",
      );
    }
  }

  /**
   * A fault instead where the stored bytes of the content to enforce are not those that the log
   * names: damaged content must not be enforced anywhere.
   */
  async function orMissing(verdict: Verdict): Promise<Verdict> {
    if (verdict === null || !("to" in verdict) || verdict.to?.module == null) return verdict;
    const { digest, module, revision } = verdict.to;
    const content = await log.content(digest);
    const isStored = content !== null && hash("sha256", content.module, "hex") === module;
    return isStored ? verdict : { fault: "no_bytes", revision };
  }

  /** Tries again, on the newest states, while another writer is first; `false`: too many were. */
  async function attempt(work: (newest: PolicyStates) => Promise<boolean>) {
    for (let count = 0; count < ATTEMPTS; count += 1) {
      if (await work(await refresh())) return true;
      await pause();
    }
    return false;
  }

  /** `false`: another writer has added rows meanwhile. */
  async function append(head: ChainLink, records: readonly PolicyRecord[]) {
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
    if (!(await log.append(head, rows))) return false;
    take(rows);
    return true;
  }

  /** Skips rows that another read has applied already. */
  function take(rows: readonly PolicyLogRow[]) {
    for (const row of rows) {
      if (row.position > states.head.position) states = foldRow(states, row);
    }
  }

  function now() {
    return Math.trunc(clock());
  }

  function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const next = turn.then(work, work);
    turn = next.catch(() => undefined);
    return next;
  }

  await refresh();
  return {
    get states() {
      return states;
    },
    refresh,
    observe,
    change,
  };
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
