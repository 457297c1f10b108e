import { asIdentifier, type AttemptRecord, type Identifier, type OutcomeRecord } from "./record.ts";

/**
 * The endpoints that gave a request's answer, each once, in the order of its attempts: several where a batch was sent in parts. Empty where there was
 * no answer.
 */
export function answeredBy({
  terminal,
  attempts,
}: Pick<OutcomeRecord, "terminal" | "attempts">): readonly AttemptRecord[] {
  if (terminal !== "completed" && terminal !== "incomplete") return [];
  // Nearly every answer came from the first endpoint.
  if (attempts.length === 1 && attempts[0]?.failure === null) return attempts;
  const answering = new Map<string, AttemptRecord>();
  for (const attempt of attempts) {
    if (attempt.failure !== null) continue;
    const known = answering.get(attempt.endpoint);
    const calls = (known?.calls ?? 0) + (attempt.calls ?? 1);
    answering.set(attempt.endpoint, known === undefined ? attempt : { ...known, calls });
  }
  return [...answering.values()];
}

/** Where a request ended, for people to read: the endpoints that answered, or else the one that was tried last. */
export function endedAt(outcome: Pick<OutcomeRecord, "terminal" | "attempts">): readonly AttemptRecord[] {
  const answering = answeredBy(outcome);
  return answering.length > 0 ? answering : outcome.attempts.slice(-1);
}

/** The values of one member, each once, joined by commas; `null` where there are none. */
export function namesOf(all: readonly AttemptRecord[], key: "endpoint" | "provider" | "region"): Identifier | null {
  const names = new Set(all.map((attempt) => attempt[key]));
  return names.size === 0 ? null : asIdentifier([...names].join(","));
}

/**
 * Divides what a provider counted among the endpoints that answered, by their calls: parts of a batch are of about one size, and only the sum is recorded.
 * The shares add up to `count`.
 *
 * @param count a whole number.
 */
export function shares(count: number, attempts: readonly AttemptRecord[]): readonly number[] {
  const total = attempts.reduce((sum, { calls = 1 }) => sum + calls, 0);
  let passed = 0;
  return attempts.map(({ calls = 1 }) => {
    const before = Math.floor((count * passed) / total);
    passed += calls;
    return Math.floor((count * passed) / total) - before;
  });
}
