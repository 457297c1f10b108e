import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { InferenceEvent } from "../../src/canon/generate/event.ts";
import { BlockSequencer, collectAnswer } from "../../src/dialects/answer-events.ts";

/** What the events say of blocks: opened in order, one at a time, deltas inside. */
function outline(events: readonly InferenceEvent[]): readonly string[] {
  return events.map((event) => {
    if (event.type === "open") return `open ${event.index} ${event.block.kind}`;
    if (event.type === "close") return `close ${event.index}`;
    if (event.type === "text" || event.type === "reasoning" || event.type === "refusal")
      return event.text;
    return event.type === "arguments" ? event.json : event.type;
  });
}

describe("the block sequencer", () => {
  it("ends one kind before it begins another", () => {
    const sequencer = new BlockSequencer();
    sequencer.reasoning("a", false);
    sequencer.reasoning("b", false);
    sequencer.text("c");
    sequencer.closeAll();
    expect(outline(sequencer.drain())).toEqual([
      "open 0 reasoning",
      "a",
      "b",
      "close 0",
      "open 1 text",
      "c",
      "close 1",
    ]);
  });

  it("reports a call at once and the next one when its arguments are whole", () => {
    const sequencer = new BlockSequencer();
    sequencer.openTool("0", "x", "first");
    sequencer.arguments("0", '{"a":');
    expect(outline(sequencer.drain())).toEqual(["open 0 tool_call", '{"a":']);
    sequencer.openTool("1", "y", "second");
    sequencer.arguments("1", "{}");
    expect(outline(sequencer.drain())).toEqual([]);
    sequencer.arguments("0", "1}");
    expect(outline(sequencer.drain())).toEqual(["1}", "close 0", "open 1 tool_call", "{}"]);
  });

  it("prints a call without arguments with an empty object", () => {
    const sequencer = new BlockSequencer();
    sequencer.openTool("0", "x", "first");
    sequencer.closeAll();
    expect(outline(sequencer.drain())).toEqual(["open 0 tool_call", "{}", "close 0"]);
  });

  it("notices a piece for a call that has ended", () => {
    const sequencer = new BlockSequencer();
    sequencer.openTool("0", "x", "first");
    sequencer.arguments("0", "{}");
    sequencer.text("then");
    sequencer.arguments("0", " \n");
    expect(sequencer.torn).toBe(false);
    sequencer.arguments("0", '{"more":1}');
    expect(sequencer.torn).toBe(true);
  });

  it("ends no call at a bracket within a string", () => {
    const sequencer = new BlockSequencer();
    sequencer.openTool("0", "x", "first");
    sequencer.openTool("1", "y", "second");
    for (const piece of ['{"a":"}', String.raw`\"}`, '{"', ',"b":[{}']) {
      sequencer.arguments("0", piece);
      expect(outline(sequencer.drain())).not.toContain("close 0");
    }
    sequencer.arguments("0", "]}");
    expect(outline(sequencer.drain())).toContain("open 1 tool_call");
  });

  it("reads each character once, for pieces of any size and any number of waiting ones", () => {
    const sequencer = new BlockSequencer();
    sequencer.openTool("0", "x", "first");
    sequencer.openTool("1", "y", "second");
    sequencer.arguments("0", '{"a":"');
    // Half a million pieces that each could be the end: reading all that came before with each of
    // them would take hours.
    for (let count = 0; count < 500_000; count += 1) sequencer.arguments("0", "x}");
    sequencer.arguments("0", '"}');
    expect(outline(sequencer.drain())).toContain("close 0");
  });

  it("keeps a signature with its reasoning, and opens an empty block for reasoning that is hidden", () => {
    const sequencer = new BlockSequencer();
    sequencer.reasoning("why", false);
    sequencer.signature("s", "family");
    sequencer.close();
    sequencer.signature("hidden", "family");
    sequencer.closeAll();
    expect(collectAnswer(sequencer.drain()).blocks).toEqual([
      { kind: "reasoning", text: "why", summary: false, signature: "s", family: "family" },
      { kind: "reasoning", text: "", summary: false, signature: "hidden", family: "family" },
    ]);
  });

  it("loses nothing of interleaved calls, for every order of their pieces", () => {
    const calls = fc.array(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 1 })), {
      minLength: 1,
      maxLength: 4,
    });
    fc.assert(
      fc.property(calls, fc.infiniteStream(fc.nat()), (inputs, choices) => {
        const sequencer = new BlockSequencer();
        const pending = inputs.map((input, index) => ({
          key: String(index),
          rest: JSON.stringify(input),
        }));
        for (const { key } of pending) sequencer.openTool(key, `id${key}`, `name${key}`);
        while (pending.some(({ rest }) => rest !== "")) {
          const open = pending.filter(({ rest }) => rest !== "");
          const one = open[(choices.next().value ?? 0) % open.length];
          if (one === undefined) break;
          const size = 1 + ((choices.next().value ?? 0) % 3);
          sequencer.arguments(one.key, one.rest.slice(0, size));
          one.rest = one.rest.slice(size);
        }
        sequencer.closeAll();
        const events = sequencer.drain();
        expect(sequencer.torn).toBe(false);
        expect(events.filter(({ type }) => type === "open").length).toBe(inputs.length);
        const { blocks } = collectAnswer(events);
        expect(
          blocks.map((block) => (block.kind === "tool_call" ? JSON.parse(block.arguments) : null)),
        ).toEqual(inputs.map((input) => JSON.parse(JSON.stringify(input))));
        let open: number | null = null;
        for (const event of events) {
          if (event.type === "open") {
            expect(open).toBeNull();
            open = event.index;
          } else if (event.type === "close") open = null;
        }
      }),
    );
  });
});
