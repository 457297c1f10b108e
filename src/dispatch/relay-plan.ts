import type { Candidate, RouteDecision } from "../canon/decision.ts";
import type { ServiceError } from "../canon/error.ts";
import type { UpstreamFailure } from "../canon/failure.ts";
import { INCOMPLETE_REASONS, type FinishReason } from "../canon/generate/event.ts";
import type { Loss } from "../canon/generate/loss.ts";
import type { TokenUsage } from "../canon/generate/usage.ts";
import type { InferenceRequest } from "../canon/request.ts";
import type { Passage } from "../dialects/translation/passage.ts";
import type { ClientAnswer } from "./client-answer.ts";
import type { Connection } from "./connections.ts";
import { failureError, wasAsked } from "./failure-error.ts";
import { nextStep } from "./next-step.ts";
import { RelayAttempt, type AttemptResult } from "./relay-attempt.ts";

/** One request to be answered by the first candidate of its plan that can. */
export interface RelayJob {
  readonly request: InferenceRequest;
  readonly decision: RouteDecision;
  /** The way to a candidate. */
  readonly passageTo: (candidate: Candidate) => Passage;
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
}

/** How one candidate fared. */
export interface AttemptReport {
  readonly candidate: Candidate;
  readonly simulated: boolean;
  /** The candidate speaks another dialect than the caller. */
  readonly translated: boolean;
  readonly failure: UpstreamFailure | null;
  readonly status: number | null;
  /** Milliseconds; the longest where several calls are told of together. */
  readonly duration: number;
  /** Calls that ended alike, where a request was sent in parts; one where absent. */
  readonly calls?: number;
}

export interface RelayOutcome {
  readonly terminal: "completed" | "incomplete" | "failed" | "client_closed";
  /** What the client must still be told, where nothing has been sent; `null` where the answer has been sent. */
  readonly error: ServiceError | null;
  readonly attempts: readonly AttemptReport[];
  readonly finish: FinishReason | null;
  readonly usage: TokenUsage | null;
  /** On the clock of `performance.now()`; `null` where no byte was sent. */
  readonly firstByteAt: number | null;
  /** Names of members taken out of the request. */
  readonly stripped: readonly string[];
  /** What translations of request and answer left out or changed; each once. */
  readonly losses: readonly Loss[];
}

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
  const losses = new Set<Loss>();
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
    let translated = false;
    if (connection === undefined) {
      result = notTried("credentials_missing");
    } else if (connection.gate.inFlight >= connection.provider.maxConcurrency) {
      result = notTried("saturated");
    } else {
      const passage = job.passageTo(candidate);
      ({ translated } = passage);
      for (const name of passage.stripped) stripped.add(name);
      for (const loss of passage.losses) losses.add(loss);
      current = new RelayAttempt(job, candidate, connection, passage, index + 1, client);
      connection.gate.inFlight += 1;
      result = await current.run().finally(() => {
        connection.gate.inFlight -= 1;
      });
      for (const loss of result.losses) losses.add(loss);
    }
    const duration = performance.now() - startedAt;
    attempts.push({
      candidate,
      simulated: connection?.simulated === true,
      translated,
      failure: result.failure,
      status: result.status,
      duration,
    });
    const { finish, usage, firstByteAt } = result;
    const known = { attempts, stripped: [...stripped], losses: [...losses], finish, usage, firstByteAt };
    if (gone) return { ...known, terminal: "client_closed", error: null };
    if (result.failure === null) {
      const incomplete = finish !== null && INCOMPLETE_REASONS.has(finish);
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
    losses: [...losses],
  };
}

function notTried(kind: UpstreamFailure["kind"]): AttemptResult {
  return {
    failure: { kind, status: null, retryAfter: null, code: null },
    status: null,
    finish: null,
    usage: null,
    losses: [],
    firstByteAt: null,
  };
}
