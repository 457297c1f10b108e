/**
 * Run as a process by `crash.test.ts`: reserves and settles without end, and says on stdout what
 * was settled for good.
 */
import { randomUUID } from "node:crypto";
import { writeSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

import { createQuotas } from "../../src/limits/quotas.ts";
import { openStore } from "../../src/server/parts.ts";
import { LIMITED } from "./crash-limits.ts";

const [, , database = "", overdraws = ""] = process.argv;
const store = await openStore(database);
const quotas = createQuotas({ store: store.limits, holder: randomUUID(), now: Date.now });
setInterval(() => void quotas.sweep(), 200);

const any = (most: number): number => Math.floor(Math.random() * (most + 1));
/** Synchronous: what is printed later than it happened could die with the process. */
function say(...parts: readonly (string | number)[]): void {
  for (;;) {
    try {
      // Short enough for a pipe to take it whole or not at all.
      writeSync(1, `${parts.join(" ")}\n`);
      return;
    } catch (error) {
      if (!(error instanceof Error) || !("code" in error) || error.code !== "EAGAIN") throw error;
    }
  }
}

async function spendWithoutEnd(): Promise<void> {
  for (;;) {
    const amount = 1 + any(60);
    const result = await quotas.reserve(
      [LIMITED],
      { requests: 1, tokens: amount, micro_usd: 0 },
      500,
    );
    if (result === null || "refused" in result) {
      await delay(5);
      continue;
    }
    const began = performance.timeOrigin + performance.now();
    say("began", began);
    await delay(any(3));
    // Every tenth turns out dearer than it was thought to be.
    const used = overdraws === "overdraws" && any(9) === 0 ? amount + any(20) : any(amount);
    say("intends", Math.max(0, used - amount));
    say("ended", began, performance.timeOrigin + performance.now());
    await quotas.settle(result, { requests: 1, tokens: used, micro_usd: 0 });
    say("settled", used);
  }
}

// Where nothing is left, nothing else is ever said.
say("ready");
await Promise.all([0, 1, 2, 3, 4].map(spendWithoutEnd));
