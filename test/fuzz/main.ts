import { parseArgs } from "node:util";
import fc from "fast-check";
import { TARGETS } from "./targets.ts";

/**
 * `npm run tool -- fuzz --minutes 10 [--target name] [--seed n]`: every parser in turn, again and
 * again, with seeds that grow from the given one. The first failure ends it and prints the target,
 * the seed and the smallest input that was found; `--target` and `--seed` repeat it.
 */
const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "1" },
    target: { type: "string" },
    seed: { type: "string" },
  },
});

const chosen = TARGETS.filter(
  ({ name }) => values.target === undefined || name.includes(values.target),
);
const end = performance.now() + Number(values.minutes) * 60_000;
const first =
  values.seed === undefined ? Math.floor(Date.now() / 1000) % 1_000_000_000 : Number(values.seed);
if (chosen.length === 0 || !Number.isFinite(end) || !Number.isSafeInteger(first)) {
  process.stderr.write("--minutes and --seed: numbers; --target: a part of a name\n");
  process.exit(2);
}

const RUNS = 500;
let [seed, runs] = [first, 0];
rounds: while (true) {
  for (const { name, property } of chosen) {
    if (performance.now() >= end) break rounds;
    const result = await fc.check(property, { seed, numRuns: RUNS });
    runs += result.numRuns;
    if (result.failed) {
      process.stdout.write(
        `FAILED ${name}\n  repeat: npm run tool -- fuzz --target ${JSON.stringify(name)} --seed ${seed}\n`,
      );
      process.stdout.write(`${await fc.asyncDefaultReportMessage(result)}\n`);
      process.exit(1);
    }
  }
  seed += 1;
}
process.stdout.write(
  `${runs} inputs, ${chosen.length} targets, seeds ${first} to ${seed}: no failure\n`,
);
