import { expect, test } from "vitest";
import { PLAIN, type Behaviour } from "../../mock/behaviour.ts";
import { headerSettings, parseBehaviour } from "../../mock/settings.ts";

const understood: [string, Partial<Behaviour>][] = [
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

test.each(understood)("understands %s", (text, expected) => {
  expect(parseBehaviour(headerSettings(text))).toEqual({ behaviour: { ...PLAIN, ...expected } });
});

const misunderstood: [string, string][] = [
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

test.each(misunderstood)("refuses %s and says %s", (text, part) => {
  const parsed = parseBehaviour(headerSettings(text));
  expect("problem" in parsed ? parsed.problem : "understood").toContain(part);
});
