import { describe, expect, it } from "vitest";
import { collectAnswer } from "../../src/dialects/answer-events.ts";
import type { InferenceEvent } from "../../src/canon/generate/event.ts";
import { isJsonObject } from "../../src/canon/json.ts";
import type { Ending } from "../../src/dialects/dialect.ts";
import type { DIALECTS } from "../../src/dialects/table.ts";
import { chatSurface } from "../../src/dialects/openai-chat/dialect.ts";
import { brokenLaws } from "../dialects/openai-chat/event-laws.ts";
import { canon } from "../dialects/openai-chat/canon.ts";
import { contextOf, NO_EDITS, NO_HEADERS, targetOf } from "../dialects/laws/target.ts";
import { readRecordings, streamText, type Recording } from "../support/recordings.ts";
import { upstreamFor } from "../../src/dialects/exchange-plan.ts";

const chatUpstream = upstreamFor("generate", "openai-chat");

const recordings = readRecordings("openai-chat");
const encoder = new TextEncoder();
const target = targetOf("openai-chat");

/**
 * What became of one exchange: its answer is whole, failed as its provider said, or (never) the two
 * ways of reading it disagree.
 */
type Verdict = "whole" | "failure reported" | "error read";

function isStream({ response: { body_type: type } }: Recording): boolean {
  return type === "sse" || type === "jsonl-chunks";
}

function relayed(recording: Recording): Ending {
  const body = recording.request?.body;
  const more = isJsonObject(body) && typeof body.n === "number" ? { n: body.n } : {};
  const messages = [{ role: "user", content: "hi" }];
  const request = chatSurface.parse(
    { model: "r", messages, stream: isStream(recording), ...more },
    100,
    NO_HEADERS,
  );
  if ("code" in request) throw new Error(request.message);
  if (!isStream(recording)) {
    return chatSurface.relay.readAnswer(
      encoder.encode(JSON.stringify(recording.response.body)),
      contextOf(request),
    ).ending;
  }
  const observer = chatSurface.relay.observe(contextOf(request));
  observer.push(encoder.encode(streamText(recording)));
  return observer.endStream().ending;
}

function translated(recording: Recording): readonly InferenceEvent[] {
  if (!isStream(recording)) {
    return chatUpstream.parseAnswer(
      encoder.encode(JSON.stringify(recording.response.body)),
      canon(),
      target,
    );
  }
  const parser = chatUpstream.parseStream(canon({ stream: true }), target);
  return [...parser.push(encoder.encode(streamText(recording))), ...parser.endAnswer()];
}

/** Answers that hold what no other protocol has are whole on a relay only. */
const NATIVE_ONLY: ReadonlySet<string> = new Set([
  "unexpected_output_item",
  "unknown_finish_reason",
  // Snowflake never gives a reason: no other protocol can say how such an answer ended.
  "missing_finish_reason",
]);

function judge(recording: Recording): Verdict {
  if ((recording.status ?? 200) >= 400) {
    const text = JSON.stringify(recording.response.body);
    const failure = chatUpstream.readError(recording.status ?? 0, encoder.encode(text));
    expect(failure.status, recording.id).toBe(recording.status);
    expect(["rejected", "auth", "not_found", "rate_limited"], recording.id).toContain(failure.kind);
    expect(failure.code ?? "a_code", recording.id).toMatch(/^[a-z_]+$/);
    return "error read";
  }
  const { failure, usage } = relayed(recording);
  const events = translated(recording);
  expect(brokenLaws(events), recording.id).toEqual([]);
  const answer = collectAnswer(events);
  if (failure !== null) {
    expect(answer.failure?.kind, recording.id).toBe(failure.kind);
    return "failure reported";
  }
  if (answer.failure !== null) expect(NATIVE_ONLY, recording.id).toContain(answer.failure.code);
  else expect(answer.usage, recording.id).toEqual(usage);
  return "whole";
}

/** Flags of the rows in docs/providers.md, as far as the recordings show their vendors. */
const FLAGS_OF_HOSTS: readonly (readonly [
  string,
  readonly (keyof (typeof DIALECTS)["openai-chat"]["flags"])[],
])[] = [
  [
    "api.mistral.ai",
    [
      "max_tokens_field",
      "no_developer_role",
      "random_seed_field",
      "short_call_ids",
      "no_participant_names",
      "no_service_tier",
      "no_allowed_tools",
      "no_reasoning_history",
    ],
  ],
  [
    "api.groq.com",
    [
      "no_developer_role",
      "no_participant_names",
      "no_allowed_tools",
      "no_prompt_cache_fields",
      "no_reasoning_history",
    ],
  ],
  [
    "api.deepseek.com",
    [
      "max_tokens_field",
      "no_developer_role",
      "no_parallel_tool_calls_field",
      "no_tool_strict",
      "no_seed",
      "no_logit_bias",
    ],
  ],
  [
    "api.cerebras.ai",
    ["no_developer_role", "no_parallel_tool_calls_field", "no_penalties", "no_service_tier"],
  ],
  [
    "ollama.com",
    ["max_tokens_field", "no_developer_role", "no_tool_strict", "no_parallel_tool_calls_field"],
  ],
  ["openrouter.ai", ["no_allowed_tools"]],
];

describe.skipIf(recordings === null)(
  "recorded vendors (skipped where ../shared/recordings is absent)",
  () => {
    it("every host's answers are read to their end, on relays and translations alike", () => {
      const hosts = new Map<string, Map<Verdict, number>>();
      for (const recording of recordings ?? []) {
        const verdict = judge(recording);
        const counts = hosts.get(recording.host) ?? new Map<Verdict, number>();
        counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
        hosts.set(recording.host, counts);
      }
      const lines = [...hosts]
        .map(
          ([host, counts]) =>
            `${host}: ${[...counts].map(([verdict, count]) => `${count} ${verdict}`).join(", ")}`,
        )
        .toSorted();
      process.stdout.write(`${lines.join("\n")}\n`);
      expect(hosts.size).toBeGreaterThan(25);
      const reported = [...hosts.values()].reduce(
        (sum, counts) => sum + (counts.get("failure reported") ?? 0),
        0,
      );
      expect(reported).toBeLessThan(12);
    });

    it.each(FLAGS_OF_HOSTS)(
      "requests that %s took go there unchanged under its flags",
      (host, flags) => {
        const changed: string[] = [];
        let unchanged = 0;
        for (const { request, status, host: recorded, id } of recordings ?? []) {
          if (recorded !== host || status !== 200 || !isJsonObject(request?.body)) continue;
          const parsed = chatSurface.parse({ ...request.body, model: "r" }, 100, NO_HEADERS);
          if ("code" in parsed) continue;
          const edit = (names: readonly string[]) => {
            const provider = { ...target.provider, flags: names };
            return chatSurface.relay.edit(parsed, target.endpoint, provider, "forward", NO_EDITS);
          };
          const { body, dropped, stripped } = edit(flags);
          const changes = [
            ...dropped,
            ...stripped.filter((name) => !edit([]).stripped.includes(name)),
          ];
          if (changes.length > 0) {
            changed.push(`${changes.join(" and ")} (${id})`);
            continue;
          }
          // Nothing was said to be changed, so nothing is.
          expect(body, id).toEqual(edit([]).body);
          unchanged += 1;
        }
        process.stdout.write(`${host}: ${unchanged} unchanged ${changed.join(", ")}\n`);
        expect(unchanged).toBeGreaterThan(0);
        expect(changed.length).toBeLessThan(unchanged / 10);
      },
    );
  },
);
