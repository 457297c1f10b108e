import { readFileSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { PLAIN, type Behaviour } from "../../mock/behaviour.ts";
import { headerSettings, modelSettings, parseBehaviour, VOCABULARY } from "../../mock/settings.ts";

const understood: [string, Partial<Behaviour>][] = [
  ["delay=50ms", { delay: 50 }],
  ["delay=2s; chunks=100; size=7", { delay: 2_000, chunks: 100, size: 7 }],
  ["first-byte=1ms; chunk-delay=3ms", { firstByte: 1, chunkDelay: 3 }],
  ["slow; size=7B", { firstByte: 500, chunkDelay: 100, size: 7 }],
  ["status=503; size=20kB", { status: 503, size: 20_000 }],
  ["429;retry-after=3;size=1MB", { status: 429, retryAfter: 3, size: 1_000_000 }],
  ["cut", { fault: { kind: "cut", moment: null } }],
  ["cut=after-2", { fault: { kind: "cut", moment: { at: "after", event: 2 } } }],
  ["close=in-1", { fault: { kind: "close", moment: { at: "in", event: 1 } } }],
  ["reset=before-headers", { fault: { kind: "reset", moment: { at: "before-headers" } } }],
  ["refused", { fault: { kind: "reset", moment: { at: "before-headers" } } }],
  ["stall=after-headers", { fault: { kind: "stall", moment: { at: "after", event: 0 } } }],
  ["stall=end", { fault: { kind: "stall", moment: { at: "end" } } }],
  ["malformed=before-finish", { fault: { kind: "malformed", moment: { at: "before-finish" } } }],
  ["error-frame=before-done", { fault: { kind: "error-frame", moment: { at: "before-done" } } }],
  ["duplicate=after-3", { fault: { kind: "duplicate", moment: { at: "after", event: 3 } } }],
  ["failed", { fault: { kind: "failed", moment: null } }],
  ["reasoning; refusal; tool-calls=2", { reasoning: true, refusal: true, toolCalls: 2 }],
  ["unicode; redacted; gzip", { unicode: true, reasoning: true, redacted: true, gzip: true }],
  ["finish=content_filter; cached=9", { finish: "content_filter", cached: 9 }],
  ["finish=pause; cache-write=3", { finish: "pause", cacheWrite: 3 }],
  ["no-done; no-finish; no-usage", { noDone: true, noFinish: true, noUsage: true }],
  ["split=1; crlf; no-space", { split: 1, crlf: true, noSpace: true }],
  ["split; keepalive", { split: "awkward", keepalive: true }],
  ["content-type=text/html; require-auth", { contentType: "text/html", requireAuth: true }],
  ["dimensions=8; categories=other; times=2", { dimensions: 8, categories: "other", times: 2 }],
  ["permute; short=2; duplicate-index", { permute: true, short: 2, duplicateIndex: true }],
  ["wrong-dimension; index-out-of-range", { wrongDimension: true, indexOutOfRange: true }],
  ["nan; no-index", { nan: true, noIndex: true }],
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

/** Parts of the problem, each with the settings that have it. */
const refused: Readonly<Record<string, readonly string[]>> = {
  "unknown setting": ["cutt", "constructor", "__proto__", "CUT", "200"],
  "MOMENT being before-headers, in-N": ["cut=2", "cut=in-0"],
  "MOMENT being after-headers": ["malformed=before-headers", "error-frame=in-2", "failed=in-2"],
  "MOMENT being after-headers, after-N": ["duplicate=before-headers"],
  "write delay=Nms or delay=Ns, up to 600s": ["delay=50", "delay=601s", "delay"],
  "is not understood": ["gzip=1", "permute=1", "short", "size=17MB", "content-type"],
  "N from 300 to 599": ["status=200", "status=600"],
  "N from 1 to 10000": ["chunks=0", "chunks=10001"],
  "N from 1 to 16384": ["dimensions=0", "dimensions=16385"],
  "N from 400 to 599": ["poison=200", "poison=600"],
  "content_filter|pause": ["finish=done"],
  "split[=N]": ["split=0", "split=65537"],
  "content-type=TYPE": ["content-type=a b/c"],
  "categories=other": ["categories", "categories=openai"],
  '"stall" contradicts or repeats "cut"': ["cut; stall"],
  "contradicts or repeats": ["gzip; gzip", "slow; chunk-delay=1ms"],
  "status=429": ["retry-after=1", "retry-after=1; fail-over=1"],
  "chunks=N": ["unicode; size=1kB"],
  "never be seen": ["poison; 500"],
  "hide each other": ["duplicate-index; no-index", "index-out-of-range; no-index"],
  "write one of them": ["duplicate-index; index-out-of-range"],
};

test.each(Object.entries(refused))("the problem has %j for the settings %j", (part, texts) => {
  for (const text of texts) {
    const parsed = parseBehaviour(headerSettings(text));
    expect("problem" in parsed ? parsed.problem : `${text} is understood`).toContain(part);
  }
});

test("any text is either understood or refused with a bounded sentence", () => {
  const some = fc.oneof(fc.string(), fc.constantFrom("cut", "size=1kB", "429", "delay=1ms"));
  fc.assert(
    fc.property(fc.array(some, { maxLength: 5 }), (settings) => {
      const parsed = parseBehaviour(settings);
      if ("behaviour" in parsed) expect(Object.keys(parsed.behaviour)).toEqual(Object.keys(PLAIN));
      else expect(parsed.problem.length).toBeLessThan(800);
    }),
  );
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
