import { describe, expect, it } from "vitest";

import { meteredEvidence, spentTokens } from "../../src/server/evidence.ts";
import {
  type DecisionRecord,
  type OutcomeRecord,
  asIdentifier,
} from "../../src/evidence/record.ts";
import type { RequestSizes } from "../../src/http/runtime.ts";
import { decisionRecord, outcomeRecord } from "../store/records.ts";
import {
  hello,
  post,
  sse,
  delta,
  startRouter,
  startSse,
  startUpstream,
  tableOver,
} from "../support/router.ts";
import { evidenceOf } from "../support/evidence-of.ts";

const sizes = { request: 400, answer: 80 };
const attempt = outcomeRecord("a").attempts[0];
if (attempt === undefined) throw new Error("no attempt");
const ended = (members: Partial<OutcomeRecord>): OutcomeRecord => ({
  ...outcomeRecord("a"),
  inputTokens: null,
  outputTokens: null,
  ...members,
});
const cut = {
  terminal: "client_closed" as const,
  attempts: [{ ...attempt, failure: "client_closed" as const }],
};

describe("a request's count against a token's ceiling", () => {
  it.each<[string, Partial<OutcomeRecord>, number]>([
    ["a whole answer: what the provider counted", { inputTokens: 7, outputTokens: 9 }, 16],
    ["a whole answer without counts: its bytes", {}, 120],
    ["an answer that its reader left: its bytes", cut, 120],
    [
      "one that was counted to its first token only",
      { ...cut, inputTokens: 30, outputTokens: 1 },
      50,
    ],
    [
      "one that its reader left before the first byte was looked at",
      { terminal: "client_closed", attempts: [] },
      100,
    ],
    [
      "a call that was lost before another answered: its input too",
      {
        inputTokens: 7,
        outputTokens: 9,
        attempts: [{ ...attempt, failure: "timeout_idle", status: null }, attempt],
      },
      23,
    ],
    [
      "a call that the provider refused: one",
      { terminal: "failed", attempts: [{ ...attempt, failure: "rejected", status: 400 }] },
      1,
    ],
    [
      "no call that reached anybody: nothing",
      { terminal: "failed", attempts: [{ ...attempt, failure: "connect", status: null }] },
      0,
    ],
  ])("%s", (_, members, tokens) => {
    expect(spentTokens("chat.completions", ended(members), sizes)).toBe(tokens);
  });

  it("omits output for embeddings, and is 0 for token counting", () => {
    expect(spentTokens("embeddings", ended({ inputTokens: 5 }), sizes)).toBe(5);
    expect(spentTokens("embeddings", ended({}), sizes)).toBe(100);
    expect(
      spentTokens(
        "embeddings",
        ended({ inputTokens: 5, attempts: [attempt, { ...attempt, failure: "reset" }] }),
        sizes,
      ),
    ).toBe(100);
    expect(spentTokens("messages.count_tokens", ended({}), sizes)).toBe(0);
  });

  it("is added only for requests with a token that may have reached a provider", () => {
    const spent: (string | number)[] = [];
    const evidence = meteredEvidence(
      evidenceOf(() => Promise.resolve()),
      (token, tokens) => void spent.push(token, tokens),
    );
    const requests: Partial<DecisionRecord>[] = [
      { token: asIdentifier("t1") },
      {},
      { token: asIdentifier("t2"), outcome: "refuse" },
      { token: asIdentifier("t3"), outcome: "deny" },
      { token: asIdentifier("t4"), outcome: "answer", operation: "models" },
    ];
    for (const [index, members] of requests.entries()) {
      evidence.begin(decisionRecord(`req_${index}`, members), () => {});
      evidence.settle({ ...ended({}), requestId: asIdentifier(`req_${index}`) }, sizes);
    }
    expect(spent).toEqual(["t1", 120]);
  });
});

it("a stream that its client closes early costs its input and the sent output", async () => {
  const upstream = await startUpstream((response) => {
    startSse(response);
    for (let piece = 0; piece < 40; piece += 1) response.write(sse(delta("text ")));
  });
  const settled: (readonly [OutcomeRecord, RequestSizes])[] = [];
  const router = await startRouter({
    table: tableOver([upstream]),
    runtime: {
      evidence: evidenceOf(
        () => Promise.resolve(),
        (record, reported) => void settled.push([record, reported]),
      ),
    },
  });
  const response = await post(router, { ...hello, stream: true });
  const reader = response.body?.getReader();
  const first = await reader?.read();
  await reader?.cancel();
  await expect.poll(() => settled.length).toBe(1);
  const [outcome, reported] = settled[0] ?? [];
  if (outcome === undefined || reported === undefined) throw new Error("nothing was settled");
  expect(outcome).toMatchObject({ terminal: "client_closed", estimated: true });
  expect(reported.request).toBe(JSON.stringify({ ...hello, stream: true }).length);
  expect(reported.answer).toBeGreaterThanOrEqual(first?.value?.length ?? Infinity);
  // Of an answer that was cut, what was sent counts where it is more than the estimate.
  const sent = Math.ceil(reported.answer / 4);
  expect(sent).toBeGreaterThan(Number(outcome.outputTokens));
  expect(spentTokens("chat.completions", outcome, reported)).toBe(
    Number(outcome.inputTokens) + sent,
  );
});
