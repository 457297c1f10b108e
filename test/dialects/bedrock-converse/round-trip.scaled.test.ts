import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { DroppedField } from "../../../src/canon/generate/edit.ts";
import type { GenerateRequest, Turn } from "../../../src/canon/generate/generate-request.ts";
import { dialect } from "../../../src/dialects/bedrock-converse/dialect.ts";
import { allowedAt } from "../laws/arbitrary/conversations.ts";
import { requestFor } from "../laws/arbitrary/requests.ts";
import { normalRequest } from "../laws/normal/request.ts";
import { targetWith } from "./target.ts";
import { readBody } from "./read-body.ts";
import { fewOrMany } from "../../support/long.ts";

const { generate: converseUpstream } = dialect;

const RUNS = fewOrMany(200, 500);
const target = targetWith();
const family = target.model.signatureFamily;
const arbitrary = requestFor(allowedAt(target));

function print(request: GenerateRequest) {
  const formatted = converseUpstream.format(request, target);
  if ("code" in formatted) throw new Error(`${formatted.code}: ${formatted.message}`);
  return { formatted, dropped: new Set(formatted.dropped) };
}

/**
 * The dropped fields that only this protocol has, besides those of the shared normal form; each
 * takes exactly what its sentence names.
 */
function normal(request: GenerateRequest, dropped: ReadonlySet<DroppedField>): unknown {
  const withheld = dropped.has("tools_withheld");
  const nothingForced = request.tools.length === 0 || request.toolChoice?.mode === "none";
  return normalRequest(
    {
      ...request,
      turns: dropped.has("file_name_changed") ? request.turns.map(withoutNames) : request.turns,
      tools: withheld ? [] : request.tools,
      toolChoice: nothingForced ? null : request.toolChoice,
      parallelToolCalls: nothingForced ? null : request.parallelToolCalls,
    },
    dropped,
  );
}

function withoutNames(turn: Turn): Turn {
  const unnamed = <Part extends { readonly kind: string }>(part: Part): Part =>
    part.kind === "file" ? { ...part, name: null } : part;
  if (turn.role === "user") return { ...turn, content: turn.content.map(unnamed) };
  if (turn.role !== "tool") return turn;
  return {
    ...turn,
    results: turn.results.map((result) => ({ ...result, content: result.content.map(unnamed) })),
  };
}

describe("a request as the provider reads it", () => {
  it("is unchanged, except for dropped fields", () => {
    fc.assert(
      fc.property(arbitrary, (request) => {
        const { formatted, dropped } = print(request);
        expect(normal(readBody(formatted, family), dropped)).toEqual(normal(request, dropped));
      }),
      { numRuns: RUNS },
    );
  });

  it("means the same when it is printed again, and drops nothing more", () => {
    fc.assert(
      fc.property(arbitrary, (request) => {
        const first = print(request);
        const read = readBody(first.formatted, family);
        const second = print(read);
        expect(JSON.stringify(readBody(second.formatted, family))).toBe(JSON.stringify(read));
        expect([...second.dropped].filter((field) => !first.dropped.has(field))).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  });

  it("keeps the grammar of the provider: roles alternate, tools of the history have a configuration, names and ids are plain", () => {
    fc.assert(
      fc.property(arbitrary, (request) => {
        const { formatted } = print(request);
        const body = JSON.parse(JSON.stringify(formatted.body));
        const roles: string[] = body.messages.map(({ role }: { role: string }) => role);
        for (const [index, role] of roles.entries()) expect(role).not.toBe(roles[index + 1]);
        const written = JSON.stringify(body.messages);
        if (/"toolUse"|"toolResult"/.test(written))
          expect(body.toolConfig.tools.length).toBeGreaterThan(0);
        const blocks: Record<string, { name?: string; toolUseId?: string }>[] =
          body.messages.flatMap(({ content }: { content: object[] }) => content);
        const names = blocks.flatMap(({ document }) =>
          document?.name === undefined ? [] : [document.name],
        );
        expect(new Set(names).size).toBe(names.length);
        for (const name of names)
          expect(name).toMatch(/^(?! )(?!.* {2})[a-zA-Z0-9 ()[\]-]{1,200}$/);
        for (const { toolUse, toolResult } of blocks)
          for (const used of [toolUse, toolResult])
            if (used !== undefined) expect(used.toolUseId).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
      }),
      { numRuns: RUNS },
    );
  });

  it("is counted at another path, with the same conversation, without generation", () => {
    fc.assert(
      fc.property(arbitrary, (request) => {
        const { formatted: generate } = print(request);
        const { formatted: count } = print({ ...request, purpose: "count" });
        const counted = JSON.parse(JSON.stringify(count.body)).input.converse;
        expect(count.path).toBe("/model/eu.vendor.model-v1%3A0/count-tokens");
        expect(Object.keys(count.body)).toEqual(["input"]);
        for (const name of ["messages", "system", "toolConfig"])
          expect(counted[name], name).toEqual(JSON.parse(JSON.stringify(generate.body))[name]);
        const others = Object.keys(counted).filter(
          (name) =>
            !["messages", "system", "toolConfig", "additionalModelRequestFields"].includes(name),
        );
        expect(others).toEqual([]);
      }),
      { numRuns: RUNS / 5 },
    );
  });
});
