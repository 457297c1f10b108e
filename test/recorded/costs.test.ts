import { describe, expect, it } from "vitest";
import { collectAnswer } from "../../src/dialects/answer-events.ts";
import { isJsonObject } from "../../src/canon/json.ts";
import type { TokenUsage } from "../../src/canon/generate/event.ts";
import type { Price } from "../../src/canon/table.ts";
import { costOfUse } from "../../src/limits/cost.ts";
import { canon } from "../dialects/openai-chat/canon.ts";
import { targetOf } from "../dialects/laws/target.ts";
import { readRecordings, streamText, type Recording } from "../support/recordings.ts";
import { upstreamFor } from "../../src/dialects/exchange-plan.ts";

const PROTOCOLS = [
  "openai-chat",
  "openai-responses",
  "anthropic-messages",
  "gemini",
  "bedrock-converse",
  "cohere-chat",
] as const;
const isPresent = readRecordings("openai-chat") !== null;
const encoder = new TextEncoder();

/** Each rate is another power of ten, so a token that counts at a wrong rate, or twice, shows. */
const PRICE: Price = {
  input: 1,
  output: 1_000,
  request: 0,
  cachedInput: 0.1,
  cacheWrite: 10,
  cacheWriteHour: 100,
  reasoning: 10_000,
};

/** `null` where the provider did not count both. */
function usageOf(protocol: (typeof PROTOCOLS)[number], recording: Recording): TokenUsage | null {
  const upstream = upstreamFor("generate", protocol);
  const { body_type: type, body } = recording.response;
  if (type === "aws-eventstream" || (recording.status ?? 200) >= 400) return null;
  const target = targetOf(protocol);
  if (type === "json") {
    return collectAnswer(
      upstream.parseAnswer(encoder.encode(JSON.stringify(body)), canon(), target),
    ).usage;
  }
  const parser = upstream.parseStream(canon({ stream: true }), target);
  return collectAnswer([
    ...parser.push(encoder.encode(streamText(recording))),
    ...parser.endAnswer(),
  ]).usage;
}

/** Powers of ten per token, added up by hand from the counts in the recording. */
const BY_HAND = [
  // 142 of input, 27 of them written; 33 of output, 11 of them reasoning.
  ["openai-responses", "test_reused_tool_call_ids-request-.2", 115 + 270 + 22_000 + 110_000],
  // 9,622 of input, 9,609 of them cached; 171 of output, 136 of them thoughts.
  ["gemini", "creates_uses_extends_and_deletes_a_cache.1", 13 + 960.9 + 35_000 + 1_360_000],
  // 3 of input beside 1,111 cached and 418 written; 33 of output.
  ["anthropic-messages", "test_anthropic_cache_real_api.1", 3 + 111.1 + 4_180 + 33_000],
  // 3 of input beside 1,712 cached and 236 written; 121 of output.
  [
    "bedrock-converse",
    "test_bedrock_cache_messages_with_document_as_last_content.1",
    3 + 171.2 + 2_360 + 121_000,
  ],
  // 510 of input, 144 of them cached; 99 of output, 29 of them thoughts.
  ["cohere-chat", "cites_text_documents_in_responses.0", 366 + 14.4 + 70_000 + 290_000],
] as const;

/**
 * What OpenRouter charged for a model whose list price is $3, $15, $0.30 (cached) and $3.75
 * (written) per million.
 */
const LISTED: Price = { input: 3, output: 15, request: 0, cachedInput: 0.3, cacheWrite: 3.75 };

function billed({ response: { body } }: Recording): number | null {
  const usage = isJsonObject(body) ? body.usage : undefined;
  const cost = isJsonObject(usage) ? usage.cost : undefined;
  return typeof cost === "number" ? Math.round(cost * 1e9) : null;
}

describe.skipIf(!isPresent)(
  "the cost of recorded usage (skipped where ../shared/recordings is absent)",
  () => {
    it.each(PROTOCOLS)(
      "of %s is known where the provider counted, between its cheapest and dearest rate",
      (protocol) => {
        let counted = 0;
        for (const recording of readRecordings(protocol) ?? []) {
          const usage = usageOf(protocol, recording);
          if (usage === null || usage.input === null || usage.output === null || usage.input === 0)
            continue;
          const cost = costOfUse(PRICE, usage);
          expect(cost, recording.id).toBeGreaterThanOrEqual(
            100 * usage.input + 1_000_000 * usage.output,
          );
          expect(cost, recording.id).toBeLessThanOrEqual(
            100_000 * usage.input + 10_000_000 * usage.output,
          );
          expect(Number.isSafeInteger(cost), recording.id).toBe(true);
          counted += 1;
        }
        expect(counted).toBeGreaterThan(10);
      },
    );

    it.each(BY_HAND)("of %s %s is the sum by hand", (protocol, id, micro) => {
      const recording = readRecordings(protocol)?.find((one) => one.id.endsWith(id));
      const usage = recording === undefined ? null : usageOf(protocol, recording);
      expect(usage === null ? null : costOfUse(PRICE, usage)).toBe(Math.round(micro * 1_000));
    });

    it("equals the provider's charge, where it is reported", () => {
      let compared = 0;
      for (const recording of readRecordings("openai-chat") ?? []) {
        const cost = recording.model === "anthropic/claude-sonnet-4.6" ? billed(recording) : null;
        const usage = cost === null ? null : usageOf("openai-chat", recording);
        if (cost === null || usage === null) continue;
        expect(costOfUse(LISTED, usage), recording.id).toBe(cost);
        compared += 1;
      }
      expect(compared).toBeGreaterThan(10);
    });
  },
);
