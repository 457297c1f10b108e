import { codedError } from "../canon/error-codes.ts";
import type { ServiceError } from "../canon/error.ts";
import type { Identity } from "../canon/identity.ts";
import type { Recording } from "../dispatch/attempt.ts";
import { EvidenceUnavailableError, type PendingDecision } from "../evidence/evidence-store.ts";
import type { DecisionRecord } from "../evidence/record.ts";
import { atDeadline, GRACE } from "./deadline.ts";
import { OUT_OF_TIME, waitError } from "./heads.ts";
import type { Runtime } from "./runtime.ts";
import type { Snapshot } from "./snapshot.ts";

/**
 * A decision may gather as long (`--evidence-delay`): where the deadline is nearer it is written at
 * once, so that the error of that deadline has its record. Milliseconds.
 */
const LONGEST_DELAY = 1_000;

/**
 * A decision that is being recorded, and the caller's deadline, which ends the wait of its answer.
 */
export class RequestRecording implements Recording {
  readonly result: Promise<ServiceError | null>;
  readonly #pending: PendingDecision;
  readonly #deadline: number;
  readonly #end: (error: ServiceError | null) => void;
  #isOver = false;
  #forgetDeadline: (() => void) | null = null;

  /**
   * @param deadline on the clock of `performance.now()`; infinity: none
   * @param onRefused called with the error that the request gets instead of its answer, before
   * `result` resolves with it
   */
  constructor(
    evidence: Runtime["evidence"],
    record: DecisionRecord,
    deadline: number,
    onRefused: (error: ServiceError) => void,
  ) {
    const { promise, resolve } = Promise.withResolvers<ServiceError | null>();
    this.result = promise;
    this.#deadline = deadline;
    this.#end = (error) => {
      if (this.#isOver) return;
      this.#isOver = true;
      this.#forgetDeadline?.();
      if (error !== null) onRefused(error);
      resolve(error);
    };
    this.#pending = evidence.begin(record, (error) => {
      if (error === null) return this.#end(null);
      this.#end(waitError(deadline, unrecorded(error)));
    });
    if (deadline - performance.now() < LONGEST_DELAY) this.#pending.needed();
  }

  needed(): void {
    if (this.#isOver || this.#forgetDeadline !== null) return;
    this.#forgetDeadline = atDeadline(this.#deadline + GRACE, () => this.#end(OUT_OF_TIME));
    this.#pending.needed();
  }
}

/**
 * Whether a decision must be on disk before a provider is called, and paid: where its workspace
 * requires that, and where the store is in trouble, so that an answer could not be given.
 */
export function mustPrecedeCalls({
  runtime,
  snapshot,
  identity: { workspace },
}: {
  readonly runtime: Pick<Runtime, "evidenceStatus">;
  readonly snapshot: Snapshot;
  readonly identity: Identity;
}): boolean {
  if (runtime.evidenceStatus().state !== "ok") return true;
  return snapshot.decider.table.workspaces[workspace]?.record === "before_call";
}

/** For an answer that waits from now on. */
export function onDisk(recording: Recording): Recording["result"] {
  recording.needed();
  return recording.result;
}

function unrecorded(cause: Error): ServiceError {
  // Other errors may quote what a database wrote.
  const known = cause instanceof EvidenceUnavailableError ? `: ${cause.message}` : "";
  return codedError(
    "evidence_unavailable",
    `The server could not record the decision, and it does not answer without a record${known}. Try again later.`,
  );
}
