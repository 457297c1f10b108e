import type { RouteDecision } from "../../canon/decision.ts";
import type { ServiceError } from "../../canon/error.ts";
import type { Identity } from "../../canon/identity.ts";
import type { InferenceRequest } from "../../canon/request.ts";
import type { AttemptReport, RelayOutcome, UnansweredCalls } from "../../dispatch/relay-plan.ts";
import { effectiveLimits } from "../../limits/effective.ts";
import { estimateRequest, type Estimate } from "../../limits/estimate.ts";
import type { LimitedSubject, Ledger, Reservation } from "../../limits/ledger.ts";
import type { LimitRefusal } from "../../limits/refusal.ts";
import { usedBy, usedByParts, type EndedAttempt } from "../../limits/settlement.ts";
import type { InferenceCall } from "../pipeline.ts";
import { limitHeaders } from "./headers.ts";
import { limitError } from "./limit-error.ts";

/** What one request may use, taken from its limits. Nothing more comes of a second end. */
export interface Admission {
  /** Settles what a relayed request came to. @param sent bytes of its answer. */
  readonly relayed: (outcome: RelayOutcome, sent: number) => void;
  /** The same where no answer may be seen, since the decision could not be recorded: what is known of the calls that there were. */
  readonly unanswered: (calls: UnansweredCalls) => void;
  /** The same for a request in parts. @param counted tokens; `null` where nobody counted. */
  readonly gathered: (attempts: readonly AttemptReport[], counted: number | null) => void;
  /** Nothing was sent to anybody. */
  readonly release: () => void;
  /** Whatever happened, it has ended: what has not been settled counts in full. */
  readonly end: () => void;
}

/** Longer than clients wait by themselves, milliseconds. */
const LONGEST_WAIT = 60_000;

/** Of a request that nothing limits. */
const UNLIMITED: Admission = {
  relayed: () => {},
  unanswered: () => {},
  gathered: () => {},
  release: () => {},
  end: () => {},
};

/**
 * Takes what a request may use from the limits of its workspace and key, before anything is sent to a provider. At once where enough is at
 * hand. What is left goes into the headers of the answer, and of the refusal.
 *
 * @param bytes of the body. @param calls that the request is cut into. @param deadline on the clock of `performance.now()`.
 */
export function admitToLimits(
  call: InferenceCall,
  identity: Identity,
  request: InferenceRequest,
  decision: RouteDecision,
  { bytes, calls, deadline }: { readonly bytes: number; readonly calls: number; readonly deadline: number },
): Admission | ServiceError | Promise<Admission | ServiceError> {
  const { ledger } = call.runtime;
  if (ledger === undefined) return UNLIMITED;
  const subjects = subjectsOf(call, identity);
  if (subjects.length === 0) return UNLIMITED;
  const { models } = call.snapshot.decider.table;
  const { body, shape } = request;
  const estimate = estimateRequest(
    { operation: shape.operation, body, bytes, needs: shape.needs, edits: decision.edits, calls },
    decision.plan.map(({ endpoint }) => ({ endpoint, model: models[endpoint.model] })),
  );
  const decided = ledger.reserve(subjects, estimate.amounts, deadline - performance.now());
  const { stream } = shape;
  const admitted = (result: Reservation | LimitRefusal | null): Admission | ServiceError => {
    if (result === null) return UNLIMITED;
    const headers = limitHeaders(call.endpoint.path, result.meters, ledger.now());
    if (!("refused" in result)) {
      call.recorder.limited(headers);
      return new Reserved(ledger, result, estimate, stream);
    }
    // Official clients repeat a 429 within seconds, whatever it says (protocols.md §0.2).
    const isVain = result.never || result.retryAfter > LONGEST_WAIT;
    call.recorder.limited(isVain ? [...headers, "x-should-retry", "false"] : headers);
    return limitError(result);
  };
  return decided instanceof Promise ? decided.then(admitted) : admitted(decided);
}

function subjectsOf({ snapshot }: InferenceCall, { workspace, keyId, limits }: Identity): readonly LimitedSubject[] {
  const ofWorkspace = snapshot.decider.table.workspaces[workspace]?.limits;
  const ofKey = effectiveLimits(limits ?? null, ofWorkspace?.perKey ?? null);
  const subjects: LimitedSubject[] = [];
  if (ofWorkspace !== undefined) subjects.push({ kind: "workspace", id: workspace, limits: ofWorkspace });
  if (ofKey !== null) subjects.push({ kind: "key", id: keyId, limits: ofKey });
  return subjects;
}

class Reserved implements Admission {
  readonly #ledger: Ledger;
  readonly #reservation: Reservation;
  readonly #estimate: Estimate;
  readonly #streamed: boolean;

  constructor(ledger: Ledger, reservation: Reservation, estimate: Estimate, streamed: boolean) {
    this.#streamed = streamed;
    this.#ledger = ledger;
    this.#reservation = reservation;
    this.#estimate = estimate;
  }

  relayed({ terminal, attempts, usage }: RelayOutcome, sent: number): void {
    const whole = terminal === "completed" || terminal === "incomplete";
    this.#settle(
      usedBy(this.#estimate, { whole, attempts: attempts.map(toEnded), usage, sent, streamed: this.#streamed }),
    );
  }

  unanswered({ attempts, usage }: UnansweredCalls): void {
    const ended = { whole: false, attempts: attempts.map(toEnded), usage, sent: 0, streamed: this.#streamed };
    this.#settle(usedBy(this.#estimate, ended));
  }

  gathered(attempts: readonly AttemptReport[], counted: number | null): void {
    this.#settle(usedByParts(this.#estimate, attempts.map(toEnded), counted));
  }

  release(): void {
    this.#ledger.release(this.#reservation);
  }

  end(): void {
    this.#settle(this.#estimate.amounts);
  }

  #settle(used: Estimate["amounts"] | null): void {
    if (used === null) this.release();
    else void this.#ledger.settle(this.#reservation, used);
  }
}

function toEnded({ candidate, failure, status, calls }: AttemptReport): EndedAttempt {
  return { endpoint: candidate.endpoint, failure: failure?.kind ?? null, status, calls: calls ?? 1 };
}
