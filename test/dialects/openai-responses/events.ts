import fc from "fast-check";
import type {
  Citation,
  InferenceEvent,
  OpenBlock,
  TokenLogprob,
} from "../../../src/canon/generate/event.ts";

const text = fc.string({ unit: "grapheme", maxLength: 12 });
const identifier = fc.stringMatching(/^[a-z_]{1,12}$/);
const pieces = fc.array(
  text.filter((piece) => piece !== ""),
  { minLength: 1, maxLength: 4 },
);

const logprob: fc.Arbitrary<TokenLogprob> = fc.record({
  token: identifier,
  logprob: fc.constantFrom(0, -0.5, -3),
  bytes: fc.option(fc.array(fc.nat(255), { minLength: 1, maxLength: 3 })),
  top: fc.array(
    fc.record({ token: identifier, logprob: fc.constantFrom(-1, -2), bytes: fc.constant([65]) }),
    {
      maxLength: 2,
    },
  ),
});

const citation: fc.Arbitrary<Citation> = fc.oneof(
  fc.record({
    url: fc.constant("https://example.org/a"),
    title: fc.option(identifier),
    start: fc.nat(5),
    end: fc.integer({ min: 6, max: 9 }),
  }),
  fc.record({
    url: fc.constant("https://example.org/b"),
    title: fc.option(identifier),
    start: fc.constant(null),
    end: fc.constant(null),
  }),
);

/** Deltas of a block, without the index that its position gives it. */
interface Block {
  readonly block: OpenBlock;
  readonly deltas: readonly (
    | { readonly type: "text"; readonly text: string; readonly logprobs: readonly TokenLogprob[] }
    | { readonly type: "refusal" | "reasoning"; readonly text: string }
    | { readonly type: "signature"; readonly signature: string; readonly family: string }
    | { readonly type: "arguments"; readonly json: string }
    | { readonly type: "citation"; readonly citation: Citation }
  )[];
}

const textBlock: fc.Arbitrary<Block> = fc
  .tuple(pieces, fc.array(logprob, { maxLength: 2 }), fc.array(citation, { maxLength: 2 }))
  .map(([parts, logprobs, citations]) => ({
    block: { kind: "text" },
    deltas: [
      ...parts.map((part) => ({ type: "text", text: part, logprobs }) as const),
      ...citations.map((one) => ({ type: "citation", citation: one }) as const),
    ],
  }));

const refusalBlock: fc.Arbitrary<Block> = pieces.map((parts) => ({
  block: { kind: "refusal" },
  deltas: parts.map((part) => ({ type: "refusal", text: part }) as const),
}));

const reasoningBlock: fc.Arbitrary<Block> = fc
  .tuple(fc.boolean(), pieces, fc.option(identifier))
  .map(([summary, parts, signature]) => ({
    block: { kind: "reasoning", summary },
    deltas: [
      ...parts.map((part) => ({ type: "reasoning", text: part }) as const),
      ...(signature === null ? [] : [{ type: "signature", signature, family: "family" } as const]),
    ],
  }));

/** Reasoning that the provider hid: a signature and no text. */
const hiddenBlock: fc.Arbitrary<Block> = identifier.map((signature) => ({
  block: { kind: "reasoning", summary: false },
  deltas: [{ type: "signature", signature, family: "family" }],
}));

const callBlock: fc.Arbitrary<Block> = fc
  .tuple(
    identifier,
    identifier,
    fc.dictionary(identifier, text, { maxKeys: 2 }),
    fc.integer({ min: 1, max: 5 }),
  )
  .map(([id, name, json, size]) => {
    const whole = JSON.stringify(json);
    const parts: string[] = [];
    for (let start = 0; start < whole.length; start += size)
      parts.push(whole.slice(start, start + size));
    return {
      block: { kind: "tool_call", id, name },
      deltas: parts.map((part) => ({ type: "arguments", json: part }) as const),
    };
  });

/** Lawful events of a whole answer, as far as this protocol can express all of it. */
export const lawfulEvents: fc.Arbitrary<readonly InferenceEvent[]> = fc
  .tuple(
    fc.array(fc.oneof(textBlock, refusalBlock, reasoningBlock, hiddenBlock, callBlock), {
      maxLength: 5,
    }),
    fc.constantFrom("stop", "length", "content_filter"),
    fc.boolean(),
  )
  .map(([drawn, ended, counted]) => {
    // Two calls of one id are one call.
    const ids = new Set<string>();
    const blocks = drawn.filter(
      ({ block }) => block.kind !== "tool_call" || (!ids.has(block.id) && ids.add(block.id)),
    );
    const calls = blocks.some(({ block }) => block.kind === "tool_call");
    const refused = blocks.some(({ block }) => block.kind === "refusal");
    const reason = ended === "stop" ? (calls ? "tool_calls" : refused ? "refusal" : "stop") : ended;
    const events: InferenceEvent[] = [{ type: "start", model: "upstream-model" }];
    for (const [index, { block, deltas }] of blocks.entries()) {
      events.push({ type: "open", index, block });
      for (const delta of deltas) events.push({ ...delta, index });
      events.push({ type: "close", index });
    }
    if (counted) {
      events.push({
        type: "usage",
        usage: { input: 10, output: 4, cacheRead: 3, cacheWrite: 2, reasoning: 1 },
      });
    }
    events.push({ type: "finish", reason, stopSequence: null });
    return events;
  });
