import fc from "fast-check";
import type {
  FinishReason,
  InferenceEvent,
  OpenBlock,
  TokenUsage,
} from "../../../../src/canon/generate/event.ts";
import { someText } from "./conversations.ts";

/** A block of an answer before it has an index. */
interface Reported {
  readonly block: OpenBlock;
  readonly deltas: readonly InferenceEvent[];
}

const fragments = fc.array(someText, { minLength: 1, maxLength: 4 });

const textBlock: fc.Arbitrary<Reported> = fc
  .tuple(
    fragments,
    fc.option(
      fc.constantFrom(
        { url: "https://a.example/1", title: "One", start: 0, end: 1 },
        { url: "https://a.example/2", title: null, start: null, end: null },
      ),
      { freq: 4 },
    ),
  )
  .map(([texts, citation]) => ({
    block: { kind: "text" },
    deltas: [
      ...texts.map((text): InferenceEvent => ({ type: "text", index: 0, text, logprobs: [] })),
      ...(citation === null ? [] : [{ type: "citation", index: 0, citation } as const]),
    ],
  }));

const refusalBlock: fc.Arbitrary<Reported> = fragments.map((texts) => ({
  block: { kind: "refusal" },
  deltas: texts.map((text) => ({ type: "refusal", index: 0, text })),
}));

function reasoningBlock(family: string | null): fc.Arbitrary<Reported> {
  const signature =
    family === null
      ? fc.constant(null)
      : fc.option(fc.base64String({ minLength: 8, maxLength: 16 }));
  return fc
    .tuple(fc.array(someText, { maxLength: 3 }), signature, fc.boolean())
    .filter(([texts, sign]) => texts.length > 0 || sign !== null)
    .map(([texts, sign, summary]) => ({
      block: { kind: "reasoning", summary: summary && texts.length > 0 },
      deltas: [
        ...texts.map((text): InferenceEvent => ({ type: "reasoning", index: 0, text })),
        ...(sign === null || family === null
          ? []
          : [{ type: "signature", index: 0, signature: sign, family } as const]),
      ],
    }));
}

/** The JSON text of an object, cut anywhere: inside names, numbers and escapes too. */
const callBlock: fc.Arbitrary<Reported> = fc
  .tuple(
    fc.constantFrom("look_up", "send"),
    fc.dictionary(fc.string({ unit: "grapheme", maxLength: 4 }), fc.jsonValue({ maxDepth: 2 }), {
      maxKeys: 3,
    }),
    fc.array(fc.nat(60), { maxLength: 3 }),
  )
  .map(([name, value, positions]) => {
    const json = JSON.stringify(value);
    const cuts = [
      0,
      ...positions.map((position) => Math.min(position, json.length)).toSorted((a, b) => a - b),
      json.length,
    ];
    const pieces = cuts.slice(1).map((end, index) => json.slice(cuts[index], end));
    return {
      block: { kind: "tool_call", id: "", name },
      deltas: pieces
        .filter((piece) => piece !== "")
        .map((piece) => ({ type: "arguments", index: 0, json: piece })),
    };
  });

const usage: fc.Arbitrary<TokenUsage> = fc
  .record({
    input: fc.integer({ min: 0, max: 9_999 }),
    output: fc.integer({ min: 0, max: 9_999 }),
    read: fc.option(fc.nat(50)),
    write: fc.option(fc.nat(50)),
    thought: fc.option(fc.nat(100)),
  })
  .map(({ input, output, read, write, thought }) => ({
    input: input + (read ?? 0) + (write ?? 0),
    output: output + (thought ?? 0),
    cacheRead: read,
    cacheWrite: write,
    reasoning: thought,
  }));

/** Reasons that go with what was said: calls end in calls or at a limit, a refusal in itself. */
function reasonFor(
  blocks: readonly Reported[],
): fc.Arbitrary<{ reason: FinishReason; stopSequence: string | null }> {
  const kinds = new Set(blocks.map(({ block }) => block.kind));
  const plain = (...reasons: readonly FinishReason[]) =>
    fc.constantFrom(...reasons).map((reason) => ({ reason, stopSequence: null }));
  if (kinds.has("tool_call")) return plain("tool_calls", "tool_calls", "length");
  if (kinds.has("refusal")) return plain("refusal");
  return fc.oneof(
    plain("stop", "length", "context_window", "content_filter", "refusal"),
    fc.constant({ reason: "stop_sequence" as const, stopSequence: "END" }),
  );
}

/**
 * Whole answers as lawful sequences of events. `family` is who signs their reasoning, `null` where
 * it is unsigned.
 */
export function answerEvents(family: string | null): fc.Arbitrary<readonly InferenceEvent[]> {
  const block = fc.oneof(
    { weight: 3, arbitrary: textBlock },
    { weight: 1, arbitrary: refusalBlock },
    { weight: 2, arbitrary: reasoningBlock(family) },
    { weight: 2, arbitrary: callBlock },
  );
  return fc
    .tuple(fc.array(block, { maxLength: 5 }), fc.option(usage, { freq: 5 }), fc.boolean())
    .map(([blocks, counts, early]) => ({ blocks: soundBlocks(blocks), counts, early }))
    .chain(({ blocks, counts, early }) =>
      reasonFor(blocks).map((finish) => sequence(blocks, counts, early, finish)),
    );
}

/** No answer both refuses and calls, and no protocol goes on after a refusal. */
function soundBlocks(blocks: readonly Reported[]): readonly Reported[] {
  const refusal = blocks.findIndex(({ block }) => block.kind === "refusal");
  if (refusal === -1) return blocks;
  return [
    ...blocks.slice(0, refusal).filter(({ block }) => block.kind === "reasoning"),
    ...blocks.slice(refusal, refusal + 1),
  ];
}

function sequence(
  blocks: readonly Reported[],
  counts: TokenUsage | null,
  early: boolean,
  finish: { reason: FinishReason; stopSequence: string | null },
): readonly InferenceEvent[] {
  const events: InferenceEvent[] = [{ type: "start", model: "upstream-1" }];
  if (counts !== null && early) {
    events.push({ type: "usage", usage: { ...counts, output: null, reasoning: null } });
  }
  for (const [index, { block, deltas }] of blocks.entries()) {
    events.push({
      type: "open",
      index,
      block: block.kind === "tool_call" ? { ...block, id: `call_${index}` } : block,
    });
    for (const delta of deltas) events.push("index" in delta ? { ...delta, index } : delta);
    events.push({ type: "close", index });
  }
  if (counts !== null) events.push({ type: "usage", usage: counts });
  events.push({ type: "finish", ...finish });
  return events;
}

const KIND_OF = {
  text: "text",
  citation: "text",
  refusal: "refusal",
  reasoning: "reasoning",
  signature: "reasoning",
  arguments: "tool_call",
} as const;

/**
 * The laws of `InferenceEvent` that a sequence breaks (canon/generate/event.ts). A failure may be
 * all that there is: nothing had started.
 *
 * @param ended whether the bytes have ended, so that a terminal is due.
 */
export function brokenLaws(events: readonly InferenceEvent[], ended = true): readonly string[] {
  const broken: string[] = [];
  let open: OpenBlock | null = null;
  let next = 0;
  let signed = false;
  for (const [position, event] of events.entries()) {
    const isLast = position === events.length - 1;
    const isTerminal = event.type === "finish" || event.type === "failure";
    if (
      (event.type === "start") !== (position === 0) &&
      !(event.type === "failure" && events.length === 1)
    )
      broken.push(`${event.type} at ${position}: start is first, and only first`);
    if (isTerminal && !isLast) broken.push(`${event.type} is not last`);
    if (event.type === "open") {
      if (open !== null) broken.push(`block ${event.index} opens inside another`);
      if (event.index !== next) broken.push(`block ${event.index} where ${next} is next`);
      open = event.block;
      signed = false;
    } else if (event.type === "close") {
      if (open === null || event.index !== next)
        broken.push(`close of ${event.index}, which is not open`);
      open = null;
      next += 1;
    } else if (event.type in KIND_OF && "index" in event) {
      if (open === null || event.index !== next)
        broken.push(`${event.type} for ${event.index}, which is not open`);
      else if (open.kind !== KIND_OF[event.type])
        broken.push(`${event.type} in a block of ${open.kind}`);
      if (event.type === "reasoning" && signed) broken.push("reasoning after its signature");
      if (event.type === "signature" && signed) broken.push("two signatures in a block");
      signed ||= event.type === "signature";
    } else if (event.type === "finish" && open !== null) {
      broken.push("finish with a block open");
    }
  }
  const last = events.at(-1);
  if (ended && last?.type !== "finish" && last?.type !== "failure") broken.push("no terminal");
  return broken;
}
