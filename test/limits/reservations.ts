import type { LimitedSubject, LimitRefusal, Amounts } from "../../src/limits/accounts.ts";
import type { KeyLimits } from "../../src/canon/limits.ts";
import { createQuotas, type Quotas, type Reservation } from "../../src/limits/quotas.ts";
import type { MemoryLimitStore } from "./memory-store.ts";

export const NONE: KeyLimits = {
  requestsPerMinute: null,
  tokensPerMinute: null,
  concurrency: null,
  budget: null,
};
export const one: Amounts = { requests: 1, tokens: 0, micro_usd: 0 };
export const tokens = (count: number): Amounts => ({ requests: 1, tokens: count, micro_usd: 0 });

/** 2026-11-22T10:00:00Z, the start of a minute, an hour and nothing more. */
export const TEN = Date.UTC(2026, 10, 22, 10);

export const clock = { at: TEN };
let holders = 0;

export function quotasOver(store: MemoryLimitStore): Quotas {
  holders += 1;
  return createQuotas({ store, holder: `h${holders}`, now: () => clock.at });
}

export function workspace(limits: Partial<KeyLimits>): LimitedSubject {
  return { kind: "workspace", id: "acme", limits: { ...NONE, ...limits } };
}

export async function reserve(
  quotas: Quotas,
  subject: LimitedSubject,
  amounts = one,
): Promise<Reservation | LimitRefusal> {
  const result = await quotas.reserve([subject], amounts, 1_000);
  if (result === null) throw new Error("nothing limits it");
  return result;
}

export const isReservation = (result: Reservation | LimitRefusal): result is Reservation =>
  !("refused" in result);

export async function reserved(
  quotas: Quotas,
  subject: LimitedSubject,
  amounts = one,
): Promise<Reservation> {
  const result = await reserve(quotas, subject, amounts);
  if (!isReservation(result)) throw new Error(`refused: ${result.refused}`);
  return result;
}

export async function refused(
  quotas: Quotas,
  subject: LimitedSubject,
  amounts = one,
): Promise<LimitRefusal> {
  const result = await reserve(quotas, subject, amounts);
  if (isReservation(result)) throw new Error("not refused");
  return result;
}
