import { expect, test } from "vitest";
import { compileTable } from "../../src/compile/compile-table.ts";
import { cpuTimeOf } from "../support/cpu-time.ts";

/** Milliseconds of the CPU; what is quadratic takes minutes with these texts. */
const LINEAR = 10_000;

test.for([
  ["aliases of one anchor", `x: &a 1\nlist: [${"*a,".repeat(30_000)}]`],
  [
    "anchors with an alias each",
    `list: [${Array.from({ length: 9_000 }, (_, index) => `&a${index} 1,*a${index}`).join()}]`,
  ],
  [
    "keys of one mapping",
    `m: {${Array.from({ length: 50_000 }, (_, index) => `k${index}: 1`).join()}}`,
  ],
  ["the same key again and again", `m: {${"k: 1,".repeat(50_000)}}`],
] as const)("a file full of %s is judged in time that grows with its size", ([, text]) => {
  const time = cpuTimeOf(() => {
    expect(compileTable({ path: "routes.yaml", text: `version: 1\n${text}\n` }).table).toBeNull();
  });
  expect(time).toBeLessThan(LINEAR);
});

const CHAIN = Array.from(
  { length: 3_000 },
  (_, index) => `  r${index}: { primary: e, fallbacks: [{ route: r${index + 1} }] }`,
);

test.for([
  ["in their order", CHAIN],
  ["in the other order", CHAIN.toReversed()],
  ["in a circle", [...CHAIN, "  r3000: { primary: e, fallbacks: [{ route: r0 }] }"]],
] as const)("3,000 routes that fall back to each other, %s, are one finding", ([, routes]) => {
  const text = `version: 1\nroutes:\n${routes.join("\n")}\n  r3000: { primary: e }\n`;
  const { table, diagnostics } = compileTable({ path: "routes.yaml", text });
  expect(table).toBeNull();
  expect(diagnostics.filter(({ code }) => code === "FALLBACK_CHAIN")).toHaveLength(1);
});
