import type { Store } from "../../src/store/port.ts";

/** A budget of ten dollars a day, for {@link spendOfKeys}. */
export const TEN_A_DAY = {
  requestsPerMinute: null,
  tokensPerMinute: null,
  concurrency: null,
  budget: { usd: 10, per: "day" },
} as const;

/** Counts an amount as spent today by each of these keys. @param usd of each. */
export async function spendOfKeys(
  { limits }: Pick<Store, "limits">,
  ids: readonly string[],
  usd: number,
): Promise<void> {
  const now = Date.now();
  const counters = ids.map(
    (id) =>
      ({
        subject: `key:${id}`,
        measure: "micro_usd",
        window: "day",
        start: now - (now % 86_400_000),
        ceiling: 10_000_000,
        giveBack: 0,
        overdraft: usd * 1_000_000,
        need: 0,
        want: 0,
      }) as const,
  );
  await limits.lease({ holder: "test", now, until: now, slots: [], counters });
}
