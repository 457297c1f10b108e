import { readFileSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PLAIN, type Behaviour } from "../../mock/behaviour.ts";
import { headerSettings, modelSettings, parseBehaviour, VOCABULARY } from "../../mock/settings.ts";

const understood: [string, Partial<Behaviour>][] = [
  ["delay=50ms", { delay: 50 }],
  ["delay=2s", { delay: 2_000 }],
  ["first-byte=1ms; chunk-delay=3ms", { firstByte: 1, chunkDelay: 3 }],
  ["slow", { firstByte: 500, chunkDelay: 100 }],
  ["status=503", { status: 503 }],
  ["429;retry-after=3", { status: 429, retryAfter: 3 }],
  ["cut", { fault: { kind: "cut", moment: null } }],
  ["cut=after-2", { fault: { kind: "cut", moment: { at: "after", event: 2 } } }],
  ["close=in-1", { fault: { kind: "close", moment: { at: "in", event: 1 } } }],
  ["reset=before-headers", { fault: { kind: "reset", moment: { at: "before-headers" } } }],
  ["refused", { fault: { kind: "reset", moment: { at: "before-headers" } } }],
  ["stall=after-headers", { fault: { kind: "stall", moment: { at: "after", event: 0 } } }],
  ["stall=end", { fault: { kind: "stall", moment: { at: "end" } } }],
  ["malformed=before-finish", { fault: { kind: "malformed", moment: { at: "before-finish" } } }],
  ["error-frame=before-done", { fault: { kind: "error-frame", moment: { at: "before-done" } } }],
  ["chunks=100", { chunks: 100 }],
  ["size=1MB", { size: 1_000_000 }],
  ["size=20kB", { size: 20_000 }],
  ["size=7", { size: 7 }],
  ["size=7B", { size: 7 }],
  [
    "reasoning; refusal; tool-calls=2; finish=content_filter; cached=9",
    { reasoning: true, refusal: true, toolCalls: 2, finish: "content_filter", cached: 9 },
  ],
  ["no-done; no-finish; no-usage", { noDone: true, noFinish: true, noUsage: true }],
  [
    "gzip; split=1; crlf; no-space; keepalive",
    { gzip: true, split: 1, crlf: true, noSpace: true, keepalive: true },
  ],
  ["split", { split: "awkward" }],
  ["unicode; redacted", { unicode: true, reasoning: true, redacted: true }],
  ["cache-write=3; finish=pause", { cacheWrite: 3, finish: "pause" }],
  ["duplicate=after-3", { fault: { kind: "duplicate", moment: { at: "after", event: 3 } } }],
  ["failed", { fault: { kind: "failed", moment: null } }],
  ["content-type=text/html", { contentType: "text/html" }],
  ["require-auth; times=2", { requireAuth: true, times: 2 }],
  ["dimensions=8; categories=other", { dimensions: 8, categories: "other" }],
  [
    "permute; short=2; wrong-dimension; nan",
    { permute: true, short: 2, wrongDimension: true, nan: true },
  ],
  ["duplicate-index", { duplicateIndex: true }],
  ["index-out-of-range", { indexOutOfRange: true }],
  ["no-index", { noIndex: true }],
  ["fail-over=96; poison", { failOver: 96, poison: 500 }],
  ["poison=429; retry-after=1", { poison: 429, retryAfter: 1 }],
];

test.each(understood)("the setting %s is understood", (text, expected) => {
  expect(parseBehaviour(headerSettings(text))).toEqual({ behaviour: { ...PLAIN, ...expected } });
});

test("settings have the same meaning after a model's name", () => {
  const { base, settings } = modelSettings("gpt-5+cut=after-2+delay=50ms");
  expect(base).toBe("gpt-5");
  expect(parseBehaviour(settings)).toEqual(
    parseBehaviour(headerSettings(" cut=after-2 ;delay=50ms; ")),
  );
});

const refused: [string, string][] = [
  ["cutt", '"cutt"'],
  ["constructor", '"constructor"'],
  ["__proto__", '"__proto__"'],
  ["CUT", '"CUT"'],
  ["cut=2", "MOMENT being before-headers"],
  ["cut=in-0", "in-N"],
  ["malformed=before-headers", "MOMENT being after-headers"],
  ["error-frame=in-2", "MOMENT being after-headers"],
  ["delay=50", "delay=Nms"],
  ["delay=601s", "up to 600s"],
  ["delay", "delay=Nms"],
  ["gzip=1", "write gzip"],
  ["status=200", "300 to 599"],
  ["200", '"200"'],
  ["chunks=0", "1 to 10000"],
  ["size=17MB", "size=N"],
  ["finish=done", "content_filter"],
  ["cut; stall", '"stall" contradicts or repeats "cut"'],
  ["gzip; gzip", "contradicts or repeats"],
  ["slow; chunk-delay=1ms", "contradicts"],
  ["retry-after=1", "status=429"],
  ["split=0", "split[=N]"],
  ["split=65537", "split[=N]"],
  ["content-type", "content-type=TYPE"],
  ["content-type=a b/c", "content-type=TYPE"],
  ["unicode; size=1kB", "chunks=N"],
  ["duplicate=before-headers", "MOMENT being after-headers"],
  ["failed=in-2", "MOMENT being after-headers"],
  ["dimensions=0", "1 to 16384"],
  ["dimensions=16385", "1 to 16384"],
  ["categories", "categories=other"],
  ["categories=openai", "categories=other"],
  ["short", "short=N"],
  ["permute=1", "write permute"],
  ["poison=200", "400 to 599"],
  ["poison=600", "400 to 599"],
  ["poison; 500", "never be seen"],
  ["duplicate-index; no-index", "write one of them"],
  ["index-out-of-range; no-index", "write one of them"],
  ["duplicate-index; index-out-of-range", "write one of them"],
  ["retry-after=1; fail-over=1", "status=429"],
];

test.each(refused)("the setting %s is refused, and the problem names %s", (text, part) => {
  const parsed = parseBehaviour(headerSettings(text));
  expect("problem" in parsed ? parsed.problem : "understood").toContain(part);
});

describe("any text", () => {
  test("is either understood or refused with a bounded sentence", () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.string(), fc.constantFrom("cut", "size=1kB", "429", "delay=1ms")), {
          maxLength: 5,
        }),
        (settings) => {
          const parsed = parseBehaviour(settings);
          if ("behaviour" in parsed)
            expect(Object.keys(parsed.behaviour)).toEqual(Object.keys(PLAIN));
          else expect(parsed.problem.length).toBeLessThan(800);
        },
      ),
    );
  });
});

test("the documentation has the table of settings (npm run generate writes it)", () => {
  const page = new URL("../../docs/mock.md", import.meta.url);
  const text = readFileSync(page, "utf8");
  const rows = VOCABULARY.map(
    ({ form, meaning }) => `| \`${form.replaceAll("|", "\\|")}\` | ${meaning} |`,
  );
  const table = ["| Setting | Meaning |", "|---|---|", ...rows].join("\n");
  const written = text.replace(
    /(?<=<!-- settings -->\n\n)[^]*?(?=\n\n<!-- end of settings -->)/,
    () => table,
  );
  expect(written).toContain(table);
  if (process.env.UPDATE_DOCS === "1") writeFileSync(page, written);
  else expect(text).toBe(written);
});
