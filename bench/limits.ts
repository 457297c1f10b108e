import { createQuotas } from "../src/limits/quotas.ts";
import type { LimitedSubject } from "../src/limits/accounts.ts";
import type { LimitStore } from "../src/limits/limit-store.ts";

/**
 * What counting costs a request: reserving and settling against four limits of a workspace and two
 * of a key, as a ratio to the same request without limits and to parsing a small body, in one run.
 * `npm run bench -- limits`.
 */
const ROUNDS = 9;
const REQUESTS = 200_000;

/** A store that grants everything at once: only the quotas are measured. */
const store: LimitStore = {
  lease: ({ counters, slots }) =>
    Promise.resolve({
      counters: counters.map(({ want }) => ({ used: want, granted: want })),
      slots: slots.map(({ want }) => ({ held: want, others: 0 })),
    }),
  read: () => Promise.resolve({ counters: [], slots: [] }),
  prune: () => Promise.resolve(0),
};

const quotas = createQuotas({ store, holder: "bench", now: Date.now });
const subjects: readonly LimitedSubject[] = [
  {
    kind: "workspace",
    id: "acme",
    limits: {
      requestsPerMinute: 1_000_000_000,
      tokensPerMinute: 1_000_000_000_000,
      concurrency: 1_000,
      budget: { usd: 1_000_000, per: "month" },
    },
  },
  {
    kind: "key",
    id: "k",
    limits: {
      requestsPerMinute: 1_000_000_000,
      tokensPerMinute: 1_000_000_000_000,
      concurrency: null,
      budget: null,
    },
  },
];
const unlimited: readonly LimitedSubject[] = subjects.map((subject) => ({
  ...subject,
  limits: { requestsPerMinute: null, tokensPerMinute: null, concurrency: null, budget: null },
}));
const amounts = { requests: 1, tokens: 900, micro_usd: 900 };
const used = { requests: 1, tokens: 300, micro_usd: 300 };
const body = JSON.stringify({
  model: "chat",
  max_tokens: 500,
  messages: [{ role: "user", content: "hello ".repeat(80) }],
});

let waited = 0;

async function spend(whose: readonly LimitedSubject[]): Promise<void> {
  for (let count = 0; count < REQUESTS; count += 1) {
    const taken = quotas.reserve(whose, amounts, 1_000);
    if (taken === null) continue;
    if (taken instanceof Promise) waited += 1;
    const reservation = taken instanceof Promise ? await taken : taken;
    if ("refused" in reservation) throw new Error(`bench: refused, ${reservation.refused}`);
    void quotas.settle(reservation, used);
  }
}

let parsed = 0;

function parse(): void {
  for (let count = 0; count < REQUESTS; count += 1) {
    const value: { readonly messages: readonly unknown[] } = JSON.parse(body);
    parsed += value.messages.length;
  }
}

/** Nanoseconds a request. */
async function timed(work: () => Promise<void> | void): Promise<number> {
  const began = performance.now();
  await work();
  return ((performance.now() - began) * 1_000_000) / REQUESTS;
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
}

const figures: Record<"limits" | "none" | "parse", number[]> = { limits: [], none: [], parse: [] };
for (let round = 0; round < ROUNDS; round += 1) {
  figures.limits.push(await timed(() => spend(subjects)));
  figures.none.push(await timed(() => spend(unlimited)));
  figures.parse.push(await timed(parse));
}
await quotas.close();
const [limits, none, parsing] = [
  median(figures.limits),
  median(figures.none),
  median(figures.parse),
];
const shown = (value: number): string => value.toFixed(0);
console.log(`reserve and settle, six limits   ${shown(limits)} ns`);
console.log(`the same without limits          ${shown(none)} ns`);
console.log(`parsing a body of ${body.length} bytes     ${shown(parsing)} ns (${parsed} messages)`);
console.log(`ratio to parsing                 ${(limits / parsing).toFixed(2)}`);
console.log(
  `waited for the store             ${((waited / (ROUNDS * REQUESTS)) * 100).toFixed(3)} % of requests`,
);
