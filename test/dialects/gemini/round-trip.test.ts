import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { DroppedField } from "../../../src/canon/generate/edit.ts";
import type {
  GenerateRequest,
  InputPart,
  Tool,
  ToolChoice,
  Turn,
} from "../../../src/canon/generate/generate-request.ts";
import { dialect } from "../../../src/dialects/gemini/dialect.ts";
import { allowedAt } from "../laws/arbitrary/conversations.ts";
import { requestFor } from "../laws/arbitrary/requests.ts";
import { normalRequest } from "../laws/normal/request.ts";
import { GEMINI, targetWith } from "./target.ts";
import { readBack } from "./reader.ts";

const { generate: geminiUpstream } = dialect;

const accepts = GEMINI.optional.toSorted();

const TARGETS = {
  "a model that signs": targetWith({ accepts }),
  "a model that does not sign": targetWith({ accepts, signatureFamily: null }),
};

/**
 * What only this protocol can say, before the rules of all protocols: thoughts are always
 * summaries, and are shown unless a request turns them off; calls that are forced, limited to names
 * or forbidden keep to their schemas by themselves; one named function is a list of one.
 */
function own(request: GenerateRequest, dropped: ReadonlySet<DroppedField>): GenerateRequest {
  const { reasoning } = request;
  const display =
    reasoning?.display === "omitted" || reasoning?.effort === "none" ? "omitted" : "summarized";
  return {
    ...request,
    turns: request.turns.map((turn) => ownTurn(turn, dropped)),
    tools: ownTools(request, dropped),
    toolChoice: ownChoice(request.toolChoice),
    reasoning: reasoning === null ? null : { ...reasoning, adaptive: false, display },
  };
}

function ownTools(
  { tools, toolChoice }: GenerateRequest,
  dropped: ReadonlySet<DroppedField>,
): readonly Tool[] {
  const isImplied = toolChoice !== null && toolChoice.mode !== "auto";
  return tools.map((tool) => ({
    ...tool,
    strict: isImplied ? null : dropped.has("tool_strictness_widened") ? true : tool.strict,
  }));
}

function ownChoice(choice: ToolChoice | null): ToolChoice | null {
  return choice?.mode === "named"
    ? { mode: "allowed", names: [choice.name], required: true }
    : choice;
}

function ownTurn(turn: Turn, dropped: ReadonlySet<DroppedField>): Turn {
  const undetailed = <Part extends InputPart>(part: Part): Part =>
    part.kind === "image" && dropped.has("image_detail_for_all") ? { ...part, detail: null } : part;
  switch (turn.role) {
    case "system":
      return turn;
    case "user":
      return { ...turn, content: turn.content.map(undetailed) };
    case "assistant":
      return {
        ...turn,
        content: turn.content.map((part) =>
          part.kind === "reasoning" ? { ...part, summary: true } : part,
        ),
      };
    case "tool":
      return {
        ...turn,
        results: turn.results.map((result) => {
          const content = result.content.map(undetailed);
          if (!dropped.has("result_files_apart")) return { ...result, content };
          const texts = content.filter(({ kind }) => kind === "text");
          return {
            ...result,
            content: [...texts, ...content.filter(({ kind }) => kind !== "text")],
          };
        }),
      };
  }
}

describe.each(Object.entries(TARGETS))("a request for %s", (_name, target) => {
  const arbitrary = requestFor(allowedAt(target)).filter(({ stop }) => stop.length <= 5);

  it("is read back unchanged, except for dropped fields", () => {
    const seen = new Set<DroppedField>();
    fc.assert(
      fc.property(arbitrary, (request) => {
        const formatted = geminiUpstream.format(request, target);
        if ("code" in formatted) throw new Error(`${formatted.code} ${formatted.message}`);
        const dropped = new Set(formatted.dropped);
        for (const field of dropped) seen.add(field);
        const again = own(readBack(formatted), dropped);
        expect(normalRequest(again, dropped)).toEqual(
          normalRequest(own(request, dropped), dropped),
        );
      }),
      { numRuns: 1_000 },
    );
    // The requests are varied enough to lose everything that can be lost on this way.
    expect([...seen].toSorted()).toEqual(
      expect.arrayContaining([
        "cache_mark_dropped",
        "image_detail_for_all",
        "result_files_apart",
        "tool_strictness_widened",
        "token_bytes_unknown",
      ]),
    );
  });

  it("is counted with the same conversation, without generation", () => {
    fc.assert(
      fc.property(arbitrary, (request) => {
        const generate = geminiUpstream.format(request, target);
        const count = geminiUpstream.format({ ...request, purpose: "count" }, target);
        if ("code" in generate || "code" in count)
          throw new Error("a request that the target can take is refused");
        const counted = readBack(count);
        const meant = readBack(generate);
        expect(counted.turns).toEqual(meant.turns);
        expect(counted.format).toEqual(meant.format);
        expect(counted.tools.map(({ name, parameters }) => [name, parameters])).toEqual(
          meant.tools.map(({ name, parameters }) => [name, parameters]),
        );
        expect(counted).toMatchObject({
          purpose: "count",
          stream: false,
          maxOutputTokens: null,
          stop: [],
          reasoning: null,
        });
      }),
      { numRuns: 300 },
    );
  });
});
