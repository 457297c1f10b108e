import type { Answer } from "../../../src/canon/generate/event.ts";
import { collectAnswer } from "../../../src/dialects/answer-events.ts";
import type { Ending } from "../../../src/dialects/dialect.ts";
import { chatSurface } from "../../../src/dialects/openai-chat/dialect.ts";
import { contextOf, targetOf } from "../laws/target.ts";
import { parse } from "./bodies.ts";
import { canon } from "./canon.ts";
import { brokenLaws } from "./event-laws.ts";
import { DONE, ODDITIES } from "./vendor-streams.ts";
import { describe, expect, it } from "vitest";
import { upstreamFor } from "../../../src/dialects/exchange-plan.ts";

const chatUpstream = upstreamFor("generate", "openai-chat");

const target = targetOf("openai-chat");
const encoder = new TextEncoder();

function relay(stream: string): { readonly ending: Ending; readonly sent: string } {
  const observer = chatSurface.relay.observe(
    contextOf(parse({ stream: true, stream_options: { include_usage: true } })),
  );
  const events: Uint8Array[] = [];
  for (const byte of encoder.encode(stream)) events.push(...observer.push(Uint8Array.of(byte)));
  const end = observer.endStream();
  return { ending: end.ending, sent: Buffer.concat([...events, ...end.events]).toString("utf8") };
}

function translate(stream: string): Answer {
  const parser = chatUpstream.parseStream(canon({ stream: true }), target);
  const events = [...encoder.encode(stream)].flatMap((byte) => [
    ...parser.push(Uint8Array.of(byte)),
  ]);
  events.push(...parser.endAnswer());
  expect(brokenLaws(events)).toEqual([]);
  return collectAnswer(events);
}

function joined(answer: Answer, kind: "text" | "reasoning"): string {
  return answer.blocks.map((block) => (block.kind === kind ? block.text : "")).join("");
}

describe("streams as vendors send them", () => {
  it.each(ODDITIES)(
    "$name: the relay has the expected ending, finish reason and counts",
    ({ stream, failure, code, finish, input }) => {
      const { ending, sent } = relay(stream);
      if (failure !== undefined) {
        expect(ending.failure).toMatchObject({ kind: failure, code: code ?? null });
        expect(sent).not.toContain("error");
        return;
      }
      expect(ending.failure).toBeNull();
      expect(ending.finish).toBe(finish);
      expect(ending.usage?.input).toBe(input);
      const closed = stream.includes(DONE) ? stream : `${stream}data: [DONE]\n\n`;
      // A reason of the provider's own is given as the protocol's.
      expect(sent).toBe(closed.replace('"model_length"', '"length"'));
    },
  );

  it.each(ODDITIES)(
    "$name: translated",
    ({ stream, failure, code, finish, input, text, reasoning, calls }) => {
      const answer = translate(stream);
      if (failure !== undefined) {
        expect(answer.failure).toMatchObject({ kind: failure, code: code ?? null });
        expect(answer.finish).toBeNull();
        return;
      }
      expect(answer.failure).toBeNull();
      expect(answer.finish?.reason).toBe(finish);
      expect(answer.usage?.input).toBe(input);
      expect(joined(answer, "text")).toBe(text ?? "");
      expect(joined(answer, "reasoning")).toBe(reasoning ?? "");
      const made = answer.blocks.flatMap((block) =>
        block.kind === "tool_call" ? `${block.id} ${block.name} ${block.arguments}` : [],
      );
      expect(made).toEqual(calls ?? []);
    },
  );

  it.each(ODDITIES.filter(({ failure }) => failure === undefined))(
    "$name: cut before its end is a failure",
    ({ stream }) => {
      const end = Math.min(
        ...['finish_reason":"', "data: [DONE]"].map((mark) =>
          stream.includes(mark) ? stream.indexOf(mark) : stream.length,
        ),
      );
      const cut = stream.slice(0, stream.lastIndexOf("data:", end) + 3);
      expect(relay(cut).ending.failure).not.toBeNull();
      expect(translate(cut).failure).not.toBeNull();
    },
  );
});
