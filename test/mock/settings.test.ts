import { readFileSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { PLAIN, type Behaviour } from "../../mock/behaviour.ts";
import { headerSettings, parseBehaviour, VOCABULARY } from "../../mock/settings.ts";

/** Other tests have the settings by their effect: here are forms that none of them uses. */
test.each<[string, Partial<Behaviour>]>([
  ["delay=2s; chunks=100; size=7", { delay: 2_000, chunks: 100, size: 7 }],
  ["slow; size=7B", { firstByte: 500, chunkDelay: 100, size: 7 }],
  ["503;size=20kB", { status: 503, size: 20_000 }],
  [" poison=429 ; retry-after=3; size=1MB;", { poison: 429, retryAfter: 3, size: 1_000_000 }],
  ["reset=before-headers", { fault: { kind: "reset", moment: { at: "before-headers" } } }],
  ["stall=after-headers", { fault: { kind: "stall", moment: { at: "after", event: 0 } } }],
  ["error-frame=before-done", { fault: { kind: "error-frame", moment: { at: "before-done" } } }],
  ["reasoning; finish=pause; split=1", { reasoning: true, finish: "pause", split: 1 }],
])("the setting %s is understood", (text, expected) => {
  expect(parseBehaviour(headerSettings(text))).toEqual({ behaviour: { ...PLAIN, ...expected } });
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
  "contradicts or repeats": ["cut; stall", "gzip; gzip", "slow; chunk-delay=1ms"],
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
    ({ form, meaning }) => `| \`${form.replaceAll("|", "\\|")}\` | ${meaning} |\n`,
  ).join("");
  const old = /(?<=<!-- settings -->\n\n.*\n\|---\|---\|\n)[^]*?(?=\n<!-- end of settings -->)/;
  const written = text.replace(old, () => rows);
  expect(written).toContain(rows);
  if (process.env.UPDATE_DOCS === "1") writeFileSync(page, written);
  else expect(text).toBe(written);
});
