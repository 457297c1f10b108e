import type { IncomingHttpHeaders } from "node:http";
import type { CallTracer } from "../canon/call-trace.ts";
import { decisionId, type Candidate, type RouteDecision } from "../canon/decision.ts";
import { codedError } from "../canon/error-codes.ts";
import { invalidRequest, type ServiceError } from "../canon/error.ts";
import { editsIn, formatEdits, type AnswerEdits } from "../canon/generate/edit.ts";
import type { Identity } from "../canon/identity.ts";
import type { RefusingLimit } from "../canon/limits.ts";
import type { RouteRow } from "../canon/table.ts";
import type { SetAside } from "../dispatch/arrange.ts";
import type { Recording, RelayOutcome } from "../dispatch/attempt.ts";
import { EvidenceUnavailableError, type PendingDecision } from "../evidence/evidence-store.ts";
import type { RequestObserver, RequestTrace } from "../evidence/observer.ts";
import { EMPTY_OUTCOME } from "../evidence/record.ts";
import {
  asIdentifier,
  type ChangeRecord,
  type DecisionRecord,
  type OutcomeRecord,
  type Terminal,
} from "../evidence/record.ts";
import { GRACE, OUT_OF_TIME, atDeadline, routeHeader, waitError } from "./heads.ts";
import {
  answerRecord,
  attemptRecords,
  choiceRecord,
  decisionRecord,
  recordHead,
  refusalRecord,
  rounded,
  type DecidedRequest,
  type Dispatched,
  type RecordHead,
} from "./records.ts";
import type { Snapshot } from "./snapshot.ts";
import type { RequestRuntime } from "./runtime.ts";
import type { Settlement } from "../limits/cost.ts";

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
  #hasEnded = false;
  #forgetDeadline: (() => void) | null = null;

  /**
   * @param deadline on the clock of `performance.now()`; infinity: none
   * @param onRefused called with the error that the request gets instead of its answer, before
   * `result` resolves with it
   */
  constructor(
    evidence: RequestRuntime["evidence"],
    record: DecisionRecord,
    deadline: number,
    onRefused: (error: ServiceError) => void,
  ) {
    const { promise, resolve } = Promise.withResolvers<ServiceError | null>();
    this.result = promise;
    this.#deadline = deadline;
    this.#end = (error) => {
      if (this.#hasEnded) return;
      this.#hasEnded = true;
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
    if (this.#hasEnded || this.#forgetDeadline !== null) return;
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
  readonly runtime: Pick<RequestRuntime, "evidenceStatus">;
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
  // Other errors may quote the database.
  const detail = cause instanceof EvidenceUnavailableError ? `: ${cause.message}` : "";
  return codedError(
    "evidence_unavailable",
    `The server could not record the decision, and it does not answer without a record${detail}. Try again later.`,
  );
}

/**
 * Writes the two records of one request: its decision before the answer, its outcome after. Each
 * exactly once.
 */
export class Recorder {
  /** Whose request it is; `null` until the credential has been recognised. */
  caller: Identity | null = null;
  readonly #snapshot: Snapshot;
  readonly #evidence: RequestRuntime["evidence"];
  readonly #observer: RequestObserver;
  readonly #trace: RequestTrace | null;
  readonly #head: RecordHead;
  readonly #stopOrder: RequestRuntime["stopOrder"];
  readonly #arrivedAt = performance.now();
  #dispatchedAt: number | null = null;
  #dispatched: Dispatched | null = null;
  #decision: DecisionRecord | null = null;
  #route = "";
  #outcome: Omit<OutcomeRecord, "requestId" | "at" | "total" | "router"> | null = null;
  #attempts: OutcomeRecord["attempts"] = [];
  #limits: readonly string[] = [];
  #refusing: RefusingLimit | null = null;
  readonly #sizes = { request: 0, answer: 0 };

  constructor(
    {
      evidence,
      observer,
      beginTrace,
      stopOrder,
    }: Pick<RequestRuntime, "evidence" | "observer" | "beginTrace" | "stopOrder">,
    snapshot: Snapshot,
    operation: DecisionRecord["operation"],
    requestId: string,
    clientRequestId: string | null,
    headers: IncomingHttpHeaders,
  ) {
    this.#snapshot = snapshot;
    this.#evidence = evidence;
    this.#observer = observer;
    this.#stopOrder = stopOrder;
    observer.began(operation);
    this.#trace =
      beginTrace?.(operation, {
        traceparent: headers.traceparent,
        tracestate: headers.tracestate,
      }) ?? null;
    this.#head = recordHead(operation, requestId, clientRequestId, headers);
  }

  /** Names the request's calls in its trace. */
  get callTracer(): CallTracer | null {
    return this.#trace?.call ?? null;
  }

  /**
   * Records a request that is refused before a provider is called. The answer does not wait for the
   * disk: nothing was allowed.
   *
   * @param decided of a request that a limit refuses after its decision
   */
  recordRefusal(error: ServiceError, decided: DecidedRequest | null = null): void {
    if (this.#decision === null) {
      this.#decision =
        decided === null
          ? refusalRecord(this.#head, this.#snapshot, this.caller, error)
          : {
              ...this.#decidedRecord(decided),
              outcome: "refuse",
              reason: asIdentifier(error.code),
              ...(this.#refusing !== null && { limit: this.#refusing }),
            };
      this.#evidence.begin(this.#decision, ignore);
    }
    this.#outcome = withoutCalls(error.status);
  }

  #decidedRecord({ request, decision }: DecidedRequest): DecisionRecord {
    this.#route = decision.route;
    return decisionRecord(this.#head, this.#knownCaller, request, decision, this.#snapshot.decider);
  }

  get #knownCaller(): Identity {
    if (this.caller === null) throw new Error("recorder: the caller is not known yet");
    return this.caller;
  }

  /** The client went away before its request was whole. */
  aborted(): void {
    this.recordRefusal(invalidRequest("client_closed", "The client closed the connection."));
    this.#outcome = { ...EMPTY_OUTCOME, status: 499, terminal: "client_closed" };
  }

  /**
   * The decision of a request whose answer may still take its time; a 503 where it cannot be on
   * disk in time, a 504 where it is not before the request's deadline.
   *
   * @param deadline on the clock of `performance.now()`
   */
  decided(decided: DecidedRequest, deadline: number): Recording {
    return this.#record(this.#decidedRecord(decided), deadline);
  }

  /**
   * The same for a request that the router itself answers. One that changes something calls it
   * before the change, and again with the answer, which then is recorded already.
   */
  recordAnswer(change?: ChangeRecord): Promise<ServiceError | null> {
    this.#outcome = { ...EMPTY_OUTCOME, status: 200, terminal: "completed" };
    if (this.#decision !== null) return Promise.resolve(null);
    return onDisk(
      this.#record(
        answerRecord(this.#head, this.#snapshot, this.#knownCaller, change),
        Number.POSITIVE_INFINITY,
      ),
    );
  }

  #record(record: DecisionRecord, deadline: number): Recording {
    this.#decision = record;
    return new RequestRecording(this.#evidence, record, deadline, (error) => {
      this.#outcome = withoutCalls(error.status);
    });
  }

  /**
   * @param headers remaining limits; names and values by turns.
   * @param refusing the limit that refuses the request
   */
  limited(headers: readonly string[], refusing: RefusingLimit | null): void {
    this.#limits = headers;
    this.#refusing = refusing;
  }

  /** @param setAside candidates that are tried last for their health */
  dispatched(route: RouteRow, decision: RouteDecision, setAside: readonly SetAside[]): void {
    this.#dispatched = { route, decision, setAside };
    this.#dispatchedAt = performance.now();
  }

  /** The error that the client got instead of an answer. */
  endWithError(error: ServiceError): void {
    const terminal: Terminal =
      error.kind === "policy_denied" || error.denial !== null
        ? "denied"
        : error.status >= 500
          ? "failed"
          : "refused";
    this.#outcome ??= { ...EMPTY_OUTCOME, status: error.status, terminal };
    this.#outcome = { ...this.#outcome, status: error.status, attempts: this.#attempts };
  }

  /** @param bytes of the request's body. */
  read(bytes: number): void {
    this.#sizes.request = bytes;
  }

  /** @param sentBytes bytes of the answer. */
  relayed(outcome: RelayOutcome, sentBytes: number, { estimated, cost }: Settlement): void {
    const { usage, firstByteAt } = outcome;
    this.#sizes.answer = sentBytes;
    this.#attempts = attemptRecords(outcome.attempts, this.#arrivedAt);
    const endFields = {
      status:
        outcome.error?.status ??
        (outcome.terminal === "client_closed" && firstByteAt === null ? 499 : 200),
      terminal: outcome.terminal,
      finish: asIdentifier(outcome.finish),
      attempts: this.#attempts,
      stripped: outcome.stripped.map((name) => asIdentifier(name)),
      losses: outcome.dropped,
      edits: editsIn(outcome.edits),
      inputTokens: usage?.input ?? null,
      outputTokens: usage?.output ?? null,
      cacheReadTokens: usage?.cacheRead ?? null,
      reasoningTokens: usage?.reasoning ?? null,
      costNanoUsd: cost,
      firstByte: firstByteAt === null ? null : rounded(firstByteAt - this.#arrivedAt),
    };
    // Members that most requests do not have would make the record of every request larger.
    const cacheWrite = usage?.cacheWrite ?? 0;
    const choice = this.#dispatched && choiceRecord(this.#dispatched, outcome);
    const isPlainOutcome =
      outcome.ended === undefined && !estimated && cacheWrite === 0 && choice === null;
    this.#outcome = isPlainOutcome
      ? endFields
      : {
          ...endFields,
          ...(outcome.ended === undefined ? {} : { ended: outcome.ended }),
          ...(estimated ? { estimated } : {}),
          ...choice,
          ...(cacheWrite > 0
            ? { cacheWriteTokens: cacheWrite, cacheWriteHourTokens: usage?.cacheWriteHour }
            : {}),
        };
  }

  /** Writes the outcome. A handler that threw has none: that is a failure of ours. */
  close(): void {
    const decision = this.#decision;
    if (decision === null) return this.#observer.ended(this.#head.operation, null);
    const recordedOutcome = this.#outcome ?? {
      ...EMPTY_OUTCOME,
      status: 500,
      terminal: "failed" as const,
    };
    // Once the time of a drain is over it is we who close connections.
    const isCut = recordedOutcome.terminal === "client_closed" && this.#stopOrder.isRequested;
    const ended = isCut ? { ...recordedOutcome, terminal: "failed" as const } : recordedOutcome;
    const outcome: OutcomeRecord = {
      requestId: this.#head.requestId,
      at: Date.now(),
      ...ended,
      total: rounded(performance.now() - this.#arrivedAt),
      router: rounded((this.#dispatchedAt ?? performance.now()) - this.#arrivedAt),
    };
    this.#evidence.settle(outcome, this.#sizes);
    try {
      const reported = { decision, outcome, traceId: this.#trace?.traceId ?? null };
      this.#observer.ended(decision.operation, reported);
      this.#trace?.endRequest(reported);
    } catch {
      // The request has ended well, and still has to release its limits and memory.
    }
  }

  /** An exception of ours. The id in the client's error is the id of the record. */
  crashed(error: ServiceError): void {
    this.recordRefusal(error);
    this.#outcome = {
      ...EMPTY_OUTCOME,
      attempts: this.#attempts,
      status: error.status,
      terminal: "failed",
    };
  }

  /** Headers of an answer that was not relayed (docs/api.md#headers-of-answers). */
  headers(): readonly string[] {
    const calls = this.#attempts.reduce((sum, attempt) => sum + (attempt.calls ?? 1), 0);
    const route = this.#route === "" ? null : routeHeader(this.#route, this.#attempts.slice(-1));
    return this.#ownHeaders(calls, route);
  }

  /**
   * Headers of a relayed answer.
   *
   * @param candidates those that gave it: several where a batch was sent in parts. At least one.
   */
  answerHeaders(
    route: string,
    candidates: readonly Candidate[],
    attempt: number,
    answerEdits: AnswerEdits,
  ): readonly string[] {
    const edits = formatEdits(answerEdits);
    const simulated = candidates.some(
      ({ endpoint }) => this.#snapshot.connections.get(endpoint.provider)?.simulated === true,
    );
    const answering = candidates.map(({ endpoint: { id, provider, region } }) => ({
      endpoint: id,
      provider,
      region,
    }));
    const headers = this.#ownHeaders(attempt, routeHeader(route, answering));
    if (edits !== null) headers.push("x-signalbox-edits", edits);
    if (simulated) headers.push("x-signalbox-simulated", "true");
    return headers;
  }

  /** @param route the value of its header; `null` where no route was chosen. */
  #ownHeaders(attempts: number, route: string | null): string[] {
    const ownTime = (this.#dispatchedAt ?? performance.now()) - this.#arrivedAt;
    const headers = [
      "x-signalbox-route",
      route ?? "",
      "x-signalbox-decision",
      decisionId(this.#head.requestId),
      "x-signalbox-table",
      this.#snapshot.decider.table.revision.slice(0, 12),
      "x-signalbox-attempts",
      String(attempts),
      "server-timing",
      `router;dur=${rounded(ownTime)}`,
    ];
    // Lists of headers are copied with `concat`: a spread into a list goes item by item.
    return (route === null ? headers.slice(2) : headers).concat(this.#limits);
  }
}

function ignore() {}

function withoutCalls(
  status: number,
): typeof EMPTY_OUTCOME & Pick<OutcomeRecord, "status" | "terminal"> {
  return { ...EMPTY_OUTCOME, status, terminal: status >= 500 ? "failed" : "refused" };
}
