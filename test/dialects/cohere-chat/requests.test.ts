import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { DroppedField } from "../../../src/canon/generate/edit.ts";
import type { GenerateRequest, Turn } from "../../../src/canon/generate/generate-request.ts";
import { dialect } from "../../../src/dialects/cohere-chat/dialect.ts";
import { normalRequest } from "../laws/normal/request.ts";
import { allowedAt } from "../laws/arbitrary/conversations.ts";
import { requestFor } from "../laws/arbitrary/requests.ts";
import { target, targetWith } from "./target.ts";
import { readBody } from "./read-body.ts";

const { generate: cohereChatUpstream } = dialect;

const RUNS = 400;

/**
 * Values that the protocol's ranges exclude, and combinations that it refuses, are the matter of
 * format.test.ts.
 */
function within(request: GenerateRequest): GenerateRequest {
  const unit = (value: number | null): number | null =>
    value === null ? null : Math.min(Math.abs(value), 1);
  return {
    ...request,
    frequencyPenalty: unit(request.frequencyPenalty),
    presencePenalty: unit(request.presencePenalty),
    tools: request.format === null ? request.tools : [],
    toolChoice: request.format === null ? request.toolChoice : null,
  };
}

const arbitrary = requestFor(allowedAt(target)).map(within);

/**
 * The normal form of this protocol: `normalRequest`, without what its own dropped fields remove.
 */
function meaning(request: GenerateRequest, dropped: ReadonlySet<DroppedField>): unknown {
  const { logprobs, topP, tools, toolChoice } = request;
  return normalRequest(
    {
      ...request,
      turns: request.turns.map((turn) => plainTurn(turn, dropped)),
      topP: dropped.has("top_p_limited") && topP === 1 ? 0.99 : topP,
      logprobs: dropped.has("logprobs_coarser") && logprobs !== null ? 0 : logprobs,
      tools: dropped.has("tool_strictness_widened")
        ? tools.map((tool) => ({ ...tool, strict: true }))
        : tools,
      toolChoice: dropped.has("hint_dropped") && tools.length === 0 ? null : toolChoice,
      // A penalty of 0 has no effect.
      frequencyPenalty: request.frequencyPenalty === 0 ? null : request.frequencyPenalty,
      presencePenalty: request.presencePenalty === 0 ? null : request.presencePenalty,
    },
    dropped,
  );
}

function plainTurn(turn: Turn, dropped: ReadonlySet<DroppedField>): Turn {
  if (turn.role !== "assistant" || !dropped.has("reasoning_display_dropped")) return turn;
  return {
    ...turn,
    content: turn.content.map((part) =>
      part.kind === "reasoning" ? { ...part, summary: false } : part,
    ),
  };
}

function printed(request: GenerateRequest) {
  const formatted = cohereChatUpstream.format(request, target);
  if ("code" in formatted)
    throw new Error(`${formatted.code} ${formatted.param} ${formatted.message}`);
  return formatted;
}

describe("cohere-chat as a language for requests", () => {
  it("a printed request is read back unchanged, except for dropped fields", () => {
    fc.assert(
      fc.property(arbitrary, (request) => {
        const { body, dropped } = printed(request);
        const said = new Set(dropped);
        // The wire carries JSON and nothing else.
        const read = readBody(JSON.parse(JSON.stringify(body)));
        expect(meaning(read, said)).toEqual(meaning(request, said));
      }),
      { numRuns: RUNS },
    );
  });

  it("a second printing gives the same body and drops nothing more", () => {
    fc.assert(
      fc.property(arbitrary, (request) => {
        const first = printed(request);
        const second = printed(readBody(JSON.parse(JSON.stringify(first.body))));
        expect(second.body).toEqual(first.body);
        expect(second.dropped.filter((field) => !first.dropped.includes(field))).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  });

  it("every feature in its row is accepted, and every other one is refused by name", () => {
    const withoutBudgets = targetWith({ reasoning: { efforts: ["low"], budgets: null } });
    for (const more of [
      { purpose: "count" },
      { logitBias: { 1: 2 } },
      { verbosity: "low" },
      { reasoning: { effort: "low", budget: null, adaptive: false, display: null } },
    ] as const) {
      const [made] = fc.sample(arbitrary, { numRuns: 1, seed: 1 });
      if (made === undefined) throw new Error("no request");
      const refused = cohereChatUpstream.format({ ...made, ...more }, withoutBudgets);
      expect(refused).toMatchObject({ status: 400, code: "feature_not_supported" });
    }
  });
});
