import type { RouteDecision } from "../../canon/decision.ts";
import { serviceError, type ServiceError } from "../../canon/error.ts";
import type { Identity } from "../../canon/identity.ts";
import type { InferenceRequest } from "../../canon/request.ts";
import type { RouteRow } from "../../canon/table.ts";
import type { UnaryAnswer, UnarySurface } from "../../dialects/unary/surface.ts";
import type { RelayOutcome } from "../../dispatch/relay-plan.ts";
import { Gathering, type Gathered } from "../../dispatch/unary/gather.ts";
import type { Bounds } from "../bounds.ts";
import type { InferenceCall } from "../pipeline.ts";
import { answerContext, targetOf } from "../translation.ts";
import { NodeAnswer } from "../node-answer.ts";
import {
  idempotentCall,
  readIdempotencyKey,
  type IdempotentCall,
  type RunningRequests,
  type Share,
  type Work,
} from "./joined.ts";
import { openUnary, type OpenedUnary } from "./open-unary.ts";

/** What one piece of work gives to everybody who waits for it. */
export interface UnaryWork {
  readonly gathered: Gathered;
  /** `null` where there is an error. */
  readonly answer: UnaryAnswer | null;
}

/**
 * Carries out a decision whose answer is one JSON document: parts are gathered, checked and put together before the first byte is sent. Gives
 * the refusal to send, or `null` when the answer has been sent.
 */
export async function answerUnary(
  call: InferenceCall,
  surface: UnarySurface,
  identity: Identity,
  request: InferenceRequest,
  route: RouteRow,
  decision: RouteDecision,
  bounds: Bounds,
): Promise<ServiceError | null> {
  const { snapshot, recorder, endpoint } = call;
  const idempotencyKey = readIdempotencyKey(call.incoming.headers);
  if (idempotencyKey !== null && typeof idempotencyKey !== "string") {
    return recorder.refuse(snapshot, identity, idempotencyKey);
  }
  const opened = openUnary(snapshot.decider.table, surface, request, route, decision, bounds.maxBatchSize);
  if ("code" in opened) return recorder.refuse(snapshot, identity, opened);
  const recorded = recorder.decided(identity, request, opened.decision);
  recorder.dispatched();
  const scope = [endpoint.operation, route.id, opened.decision.tableRevision, String(bounds.maxBatchSize ?? "")];
  const idempotent =
    idempotencyKey === null ? null : idempotentCall(identity.keyId, idempotencyKey, scope, request.body);
  return settle(call, request, opened, route, bounds, idempotent, recorded);
}

async function settle(
  call: InferenceCall,
  request: InferenceRequest,
  opened: OpenedUnary,
  route: RouteRow,
  bounds: Bounds,
  idempotent: IdempotentCall | null,
  recorded: Promise<ServiceError | null>,
): Promise<ServiceError | null> {
  const { recorder, snapshot, requestId } = call;
  const share = call.runtime.running.join(idempotent, requestId, () => begin(call, request, opened, route, bounds));
  if ("code" in share) {
    await recorded;
    return share;
  }
  const client = new NodeAnswer(call.response, call.common);
  const { end, work } = await waited(share, client, bounds.deadline);
  const unrecorded = await recorded;
  if (unrecorded !== null) return unrecorded;
  if (end === "deadline") return outOfTime();
  const terminal = end === "gone" ? "client_closed" : terminalOf(work);
  const answer = end === "answered" ? (work?.answer ?? null) : null;
  const outcome = outcomeOf(work, terminal, opened, answer === null ? null : performance.now());
  recorder.relayed(share.joined === null ? outcome : { ...outcome, attempts: [] }, share.joined);
  if (answer === null || work === null) return outcome.error;
  const { answeredBy, calls } = work.gathered;
  const [first] = opened.decision.plan;
  const made = share.joined === null ? calls : 0;
  client.start(200, [
    "content-type",
    "application/json",
    "content-length",
    String(answer.bytes.length),
    ...recorder.answerHeaders(snapshot, route.id, answeredBy ?? first, made),
  ]);
  client.end(answer.bytes);
  return null;
}

function begin(
  call: InferenceCall,
  request: InferenceRequest,
  opened: OpenedUnary,
  route: RouteRow,
  bounds: Bounds,
): Work<UnaryWork> {
  const { runtime, snapshot, requestId } = call;
  const { decision, task } = opened;
  const gathering = new Gathering({
    task,
    plan: decision.plan,
    ownDialect: call.endpoint.surface.dialect,
    targetOf: ({ endpoint }) => targetOf(snapshot.decider.table, endpoint),
    connections: snapshot.connections,
    deadline: bounds.deadline,
    maxAttempts: Math.min(bounds.maxAttempts, route.maxAttempts),
    maxAnswerBytes: runtime.limits.answerBytes,
    random: Math.random,
  });
  const result = gathering.run().then((gathered): UnaryWork => {
    if (gathered.ends === null) return { gathered, answer: null };
    const { endpoint } = gathered.answeredBy ?? decision.plan[0];
    return { gathered, answer: task.answer(gathered.ends, answerContext(request, requestId, endpoint)) };
  });
  return { result, cancel: () => gathering.cancel() };
}

interface Waited {
  readonly end: "answered" | "gone" | "deadline";
  /** `null` where it goes on for others. */
  readonly work: UnaryWork | null;
}

/** The work's end, or that of the wait for it: work may go on for others when this client has gone or has no more time. */
function waited({ result, leave }: Share<UnaryWork>, client: NodeAnswer, deadline: number): Promise<Waited> {
  return new Promise((resolve, reject) => {
    // Dispatch watches the deadline too; its own failure says more, so it goes first.
    const timer = setTimeout(() => giveUp("deadline"), Math.max(deadline - performance.now(), 0) + GRACE);
    let end: Waited["end"] = "answered";
    const giveUp = (why: "gone" | "deadline"): void => {
      clearTimeout(timer);
      end = why;
      // Work that ends with its last client ends at once, and says what its calls came to.
      if (!leave()) resolve({ end, work: null });
    };
    client.onClose(() => giveUp("gone"));
    result.then(
      (work) => {
        clearTimeout(timer);
        leave();
        resolve({ end, work });
      },
      (error: unknown) => {
        clearTimeout(timer);
        leave();
        reject(error);
      },
    );
  });
}

/** Milliseconds that dispatch gets to say what went wrong. */
const GRACE = 100;

function outOfTime(): ServiceError {
  return serviceError(504, "timeout", "upstream_timeout_total", "Upstream failure: the request's deadline passed.");
}

function terminalOf(work: UnaryWork | null): RelayOutcome["terminal"] {
  if (work === null) return "failed";
  if (work.answer === null) return work.gathered.error === null ? "client_closed" : "failed";
  return work.answer.gaps > 0 ? "incomplete" : "completed";
}

function outcomeOf(
  work: UnaryWork | null,
  terminal: RelayOutcome["terminal"],
  { task }: OpenedUnary,
  firstByteAt: number | null,
): RelayOutcome {
  const inputTokens = work?.answer?.inputTokens ?? null;
  return {
    terminal,
    error: work?.gathered.error ?? null,
    attempts: work?.gathered.attempts ?? [],
    finish: null,
    usage:
      inputTokens === null
        ? null
        : { input: inputTokens, output: null, cacheRead: null, cacheWrite: null, reasoning: null },
    firstByteAt,
    stripped: task.stripped,
    losses: [...new Set([...task.losses, ...(work?.gathered.losses ?? []), ...(work?.answer?.losses ?? [])])],
  };
}

/** Requests that may be joined, of one server. */
export type UnaryRequests = RunningRequests<UnaryWork>;
