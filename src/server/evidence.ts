import { hasReachedProvider } from "../canon/failure.ts";
import { MODEL_OPERATION_OF, isOperation, type Operation } from "../canon/operation.ts";
import {
  DuplicateDecisionError,
  EvidenceUnavailableError,
  type EvidenceStore,
} from "../evidence/evidence-store.ts";
import { NO_DECISION } from "../evidence/record.ts";
import { asIdentifier, type DecisionRecord, type OutcomeRecord } from "../evidence/record.ts";
import type { RequestSizes, Runtime } from "../http/runtime.ts";
import { LIMIT_CODES } from "../limits/accounts.ts";

/** Between sweeps, milliseconds. */
const RETENTION_INTERVAL = 3_600_000;

/**
 * After the start: a server that is restarted every half hour prunes too, and the start itself
 * stays quick.
 */
const FIRST = 60_000;

export interface Retention {
  /** Whether the newest sweep failed; the next one tries again. */
  readonly failed: () => boolean;
  /** Ends the sweeps; one that runs ends with its current step, as the store closes. */
  readonly stop: () => void;
}

/**
 * Deletes old evidence, hourly.
 *
 * @param keep milliseconds; `null` deletes nothing
 */
export function startRetention(
  evidence: Pick<EvidenceStore, "prune">,
  keep: number | null,
  now: () => number,
): Retention {
  let failed = false;
  let timer: ReturnType<typeof setTimeout> | null = null;
  const schedule = (delay: number) => {
    timer = setTimeout(() => {
      // The next sweep is set by the end of this one, so that two never run at once.
      void evidence
        .prune(now() - (keep ?? 0), now())
        .then(
          () => (failed = false),
          () => (failed = true),
        )
        .finally(() => {
          if (timer !== null) schedule(RETENTION_INTERVAL);
        });
    }, delay);
    timer.unref();
  };
  if (keep !== null) schedule(FIRST);
  return {
    failed: () => failed,
    stop() {
      if (timer !== null) clearTimeout(timer);
      timer = null;
    },
  };
}

/** Refusals that are written one by one at most: at once, and lasting a second. */
interface Share {
  readonly atOnce: number;
  readonly perSecond: number;
}

/** Of each workspace. */
const OF_WORKSPACE: Share = { atOnce: 100, perSecond: 10 };

/** Of all anonymous callers together: their requests are never looked up one by one. */
const OF_ANONYMOUS: Share = { atOnce: 20, perSecond: 0.1 };

/** How often those beyond it are written as one, milliseconds. */
const FOLD_INTERVAL = 10_000;

/** Nothing of it was read or answered. */
const NOTHING = { request: 0, answer: 0 };

type Evidence = Runtime["evidence"];

const NEVER_NEEDED = { needed: () => {} };

const LIMITS: ReadonlySet<string> = new Set(LIMIT_CODES);

interface Allowance {
  remaining: number;
  at: number;
}

interface Sum {
  readonly decision: DecisionRecord;
  readonly outcome: OutcomeRecord;
}

interface FoldedRefusals {
  readonly evidence: Evidence;
  /**
   * Writes the sums; call it when no request runs any more. @throws
   * {EvidenceUnavailableError} where sums could not be written.
   */
  readonly close: () => Promise<void>;
}

/**
 * Evidence in which refusals have a small share: unauthenticated requests, or a client that ignores
 * its limits, must not take the room of decisions and outcomes. Beyond the share of its workspace,
 * and while the store is in trouble, refusals are added up by key, operation, route, code and
 * status, and written as one record for each. A recognised key stays named, and its workspace's
 * summary counts every one.
 *
 * @param isWritable whether the store takes records now
 * @param clock milliseconds since the epoch
 */
export function foldedRefusals(
  evidence: Evidence,
  isWritable: () => boolean,
  newRequestId: () => string,
  clock: () => number,
): FoldedRefusals {
  const openDecisions = new Map<string, DecisionRecord>();
  const sums = new Map<string, Sum>();
  /** Handed over and not known to be written; handed over again with the same id. */
  let unwritten: readonly Sum[] = [];
  let timer: ReturnType<typeof setTimeout> | null = null;
  let isClosed = false;
  /** By workspace; `null` for anonymous callers. As many as there are workspaces. */
  const allowances = new Map<string | null, Allowance>();

  const takeShare = (workspace: string | null): boolean => {
    const now = clock();
    const { atOnce, perSecond } = workspace === null ? OF_ANONYMOUS : OF_WORKSPACE;
    const allowance = allowances.get(workspace) ?? { remaining: atOnce, at: now };
    allowances.set(workspace, allowance);
    allowance.remaining = Math.min(
      atOnce,
      allowance.remaining + (Math.max(0, now - allowance.at) / 1_000) * perSecond,
    );
    allowance.at = now;
    if (allowance.remaining < 1 || !isWritable()) return false;
    allowance.remaining -= 1;
    return true;
  };

  const add = (decision: DecisionRecord, outcome: OutcomeRecord) => {
    const { workspace, keyId, route, operation, reason } = decision;
    const key = JSON.stringify([
      workspace,
      keyId,
      operation,
      route,
      reason,
      outcome.status,
      outcome.terminal,
    ]);
    const requestId = sums.get(key)?.decision.requestId ?? asIdentifier(newRequestId());
    const repeated = (sums.get(key)?.decision.repeated ?? 0) + 1;
    // Of the newest of them, without the members that identify a single request.
    sums.set(key, {
      decision: { ...alike(decision), requestId, repeated },
      outcome: { ...outcome, requestId },
    });
    writeLater();
  };

  const writeLater = () => {
    // A write that runs while this is closed would otherwise keep the process alive for as long as
    // the store is away.
    if (!isClosed) timer ??= setTimeout(() => void write(), FOLD_INTERVAL);
  };

  const write = async () => {
    timer = null;
    if (isWritable()) {
      if (unwritten.length === 0) {
        unwritten = [...sums.values()];
        sums.clear();
      }
      const results = await Promise.all(unwritten.map((sum) => writeOne(evidence, sum)));
      unwritten = unwritten.filter((_, index) => results[index] === false);
    }
    if (unwritten.length + sums.size > 0) writeLater();
  };

  return {
    evidence: {
      begin(record, settled) {
        if (!isFolded(record) || takeShare(record.workspace))
          return evidence.begin(record, settled);
        openDecisions.set(record.requestId, record);
        settled(null);
        return NEVER_NEEDED;
      },
      settle(record, sizes) {
        // To look a new text up in a map, V8 puts it into its table of texts: that costs more than
        // all the rest of a record.
        const decision = openDecisions.size === 0 ? undefined : openDecisions.get(record.requestId);
        if (decision === undefined) return evidence.settle(record, sizes);
        openDecisions.delete(record.requestId);
        return add(decision, record);
      },
    },
    async close() {
      isClosed = true;
      if (timer !== null) clearTimeout(timer);
      if (unwritten.length > 0) await write();
      if (sums.size > 0) await write();
      if (unwritten.length + sums.size > 0) throw new EvidenceUnavailableError("failed");
    },
  };
}

/**
 * Refusals that cost the caller nothing and are alike: without a route (bad credentials, malformed
 * bodies, no capacity, unknown names), and those by an exhausted limit. A failure of ours has a
 * record of its own: its request id identifies the incident.
 */
function isFolded({ outcome, route, reason }: DecisionRecord): boolean {
  if (outcome === "deny") return route === null;
  if (outcome !== "refuse" || reason === "internal_error") return false;
  return route === null || LIMITS.has(reason ?? "");
}

/**
 * The members that all refusals of a sum share: none of a single request's token, shape or plan,
 * and no verdicts of policies in shadow.
 */
function alike(decision: DecisionRecord): DecisionRecord {
  const record: DecisionRecord = {
    ...decision,
    retryCount: 0,
    clientRequestDigest: null,
    ...NO_DECISION,
  };
  Reflect.deleteProperty(record, "token");
  return record;
}

/** Whether it is known to be on disk. */
async function writeOne(evidence: Evidence, { decision, outcome }: Sum): Promise<boolean> {
  const error = await new Promise<Error | null>((resolve) =>
    evidence.begin(decision, resolve).needed(),
  );
  // A duplicate was late and has landed after all; only its outcome may be missing.
  if (error !== null && !(error instanceof DuplicateDecisionError)) return false;
  evidence.settle(outcome, NOTHING);
  return true;
}

/**
 * Evidence that also reports the tokens that the requests of each exchanged token used. The records
 * and the sizes have it all, so the requests' own path need not know of tokens.
 */
export function meteredEvidence(
  evidence: Runtime["evidence"],
  spend: (tokenId: string, tokens: number) => void,
): Runtime["evidence"] {
  const running = new Map<string, { readonly token: string; readonly operation: Operation }>();
  return {
    begin(record, settled) {
      const { token, operation, outcome } = record;
      if (token !== undefined && outcome === "route" && isOperation(operation)) {
        running.set(record.requestId, { token, operation });
      }
      return evidence.begin(record, settled);
    },
    settle(record, sizes) {
      const started = running.size === 0 ? undefined : running.get(record.requestId);
      if (started !== undefined) {
        running.delete(record.requestId);
        spend(started.token, spentTokens(started.operation, record, sizes));
      }
      evidence.settle(record, sizes);
    },
  };
}

const BYTES_PER_TOKEN = 4;

/**
 * Tokens that a request counts for against a token's ceiling: the provider's count, or an estimate
 * by the bytes where there is none, as in an answer whose client left. A request that reached a
 * provider counts for at least one.
 */
export function spentTokens(
  operation: Operation,
  outcome: OutcomeRecord,
  sizes: RequestSizes,
): number {
  if (operation === "messages.count_tokens") return 0;
  const read = Math.ceil(sizes.request / BYTES_PER_TOKEN);
  // It was on its way to a provider, and ended before its progress was known.
  if (outcome.attempts.length === 0) return Math.max(1, read);
  const reached = outcome.attempts.filter(
    ({ failure }) => failure === null || hasReachedProvider(failure),
  );
  if (reached.length === 0) return 0;
  const costly = reached.filter(
    ({ failure, status }) => failure === null || status === null || status < 400,
  );
  if (costly.length === 0) return 1;
  const input = outcome.inputTokens ?? read;
  if (MODEL_OPERATION_OF[operation] !== "generate") {
    const hasFailure = costly.some(({ failure }) => failure !== null);
    return Math.max(1, hasFailure ? Math.max(input, read) : input);
  }
  const answerTokens = Math.ceil(sizes.answer / BYTES_PER_TOKEN);
  const isWhole = outcome.terminal === "completed" || outcome.terminal === "incomplete";
  // A provider's count before a cut often covers only the first word.
  const output = isWhole
    ? (outcome.outputTokens ?? answerTokens)
    : Math.max(outcome.outputTokens ?? 0, answerTokens);
  return Math.max(1, costly.length * input + output);
}
