import type { Candidate, RouteDecision } from "../canon/decision.ts";
import type { ServiceError } from "../canon/error.ts";
import type { UpstreamFailure } from "../canon/failure.ts";
import type { InferenceRequest } from "../canon/request.ts";
import type { RouteRow } from "../canon/table.ts";
import type { Relay, TokenUsage } from "../dialects/dialect.ts";
import type { ClientAnswer } from "./client-answer.ts";
import type { Connection } from "./connections.ts";
import { failureError, wasAsked } from "./failure-error.ts";
import { nextStep } from "./next-step.ts";
import { RelayAttempt, type AttemptResult } from "./relay-attempt.ts";

/** One request to be answered by the first candidate of its plan that can. */
export interface RelayJob {
  readonly request: InferenceRequest;
  readonly decision: RouteDecision;
  readonly route: RouteRow;
  readonly relayOf: (dialect: string) => Relay;
  readonly connections: ReadonlyMap<string, Connection>;
  /** On the clock of `performance.now()`. */
  readonly deadline: number;
  /** At least 1. */
  readonly maxAttempts: number;
  /** Largest answer that is collected, bytes. */
  readonly maxAnswerBytes: number;
  /** Resolves when the decision is on disk; nothing may be sent to the client before. */
  readonly durable: Promise<void>;
  /** Headers of an answer by this candidate at this attempt; names and values by turns. */
  readonly answerHeaders: (candidate: Candidate, attempt: number) => readonly string[];
  /** The bytes that end a stream which cannot be finished. */
  readonly streamFailure: (error: ServiceError) => Uint8Array;
}

/** How one candidate fared. */
export interface AttemptReport {
  readonly candidate: Candidate;
  readonly simulated: boolean;
  readonly failure: UpstreamFailure | null;
  readonly status: number | null;
  /** Milliseconds. */
  readonly duration: number;
}

export interface RelayOutcome {
  readonly terminal: "completed" | "incomplete" | "failed" | "client_closed";
  /** What the client must still be told, where nothing has been sent; `null` where the answer has been sent. */
  readonly error: ServiceError | null;
  readonly attempts: readonly AttemptReport[];
  readonly finish: string | null;
  readonly usage: TokenUsage | null;
  /** On the clock of `performance.now()`; `null` where no byte was sent. */
  readonly firstByteAt: number | null;
  /** Names of members taken out of the request. */
  readonly stripped: readonly string[];
}

/** Finish reasons after which the answer is shorter than it would have been. */
const INCOMPLETE = new Set(["length", "content_filter", "model_length", "insufficient_system_resource"]);

/**
 * Tries the candidates in order until one commits (architecture.md, "Dispatch"). Before the first byte to the client a failure may
 * fall back; after it there is only an honest end.
 *
 * @throws what `job.durable` rejects with, before anything has been sent.
 */
export async function relayPlan(job: RelayJob, client: ClientAnswer): Promise<RelayOutcome> {
  // Whoever awaits it hears of a failure; a plan whose candidates cannot be tried must not make it an unhandled one.
  job.durable.catch(() => {});
  const attempts: AttemptReport[] = [];
  const stripped = new Set<string>();
  let current: RelayAttempt | null = null;
  let gone = client.closed;
  client.onClose(() => {
    gone = true;
    current?.cancel();
  });
  client.onDrain(() => current?.resume());
  for (const [index, candidate] of job.decision.plan.entries()) {
    if (gone) break;
    const startedAt = performance.now();
    const connection = job.connections.get(candidate.endpoint.provider);
    let result: AttemptResult;
    if (connection === undefined) {
      result = notTried("credentials_missing");
    } else if (connection.gate.inFlight >= connection.provider.maxConcurrency) {
      result = notTried("saturated");
    } else {
      current = new RelayAttempt(job, candidate, connection, index + 1, client);
      connection.gate.inFlight += 1;
      result = await current.run().finally(() => {
        connection.gate.inFlight -= 1;
      });
      for (const name of current.stripped) stripped.add(name);
    }
    const duration = performance.now() - startedAt;
    attempts.push({
      candidate,
      simulated: connection?.simulated === true,
      failure: result.failure,
      status: result.status,
      duration,
    });
    const { finish, usage, firstByteAt } = result;
    const known = { attempts, stripped: [...stripped], finish, usage, firstByteAt };
    if (gone) return { ...known, terminal: "client_closed", error: null };
    if (result.failure === null) {
      const incomplete = finish !== null && INCOMPLETE.has(finish);
      return { ...known, terminal: incomplete ? "incomplete" : "completed", error: null };
    }
    if (firstByteAt !== null) return { ...known, terminal: "failed", error: null };
    const made = attempts.filter(({ failure }) => failure !== null && wasAsked(failure)).length;
    const step = nextStep(result.failure, job.maxAttempts - made, job.decision.plan.length - index - 1);
    if (step === "stop") break;
  }
  // An error is an answer too.
  if (!gone) await job.durable;
  const failed = attempts.flatMap(({ candidate, failure }) =>
    failure === null ? [] : [{ endpoint: candidate.endpoint.id, failure }],
  );
  return {
    terminal: gone ? "client_closed" : "failed",
    error: gone ? null : failureError(failed),
    attempts,
    finish: null,
    usage: null,
    firstByteAt: null,
    stripped: [...stripped],
  };
}

function notTried(kind: UpstreamFailure["kind"]): AttemptResult {
  return {
    failure: { kind, status: null, retryAfter: null, code: null },
    status: null,
    finish: null,
    usage: null,
    firstByteAt: null,
  };
}
