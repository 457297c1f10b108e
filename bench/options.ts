import { parseArgs } from "node:util";
import { CASES, type Case } from "./cases.ts";

export interface Options {
  readonly cases: readonly Case[];
  readonly runs: number;
  readonly quick: boolean;
  /** Whether other gateways are installed and measured. */
  readonly peers: boolean;
}

export const HELP = `Usage: npm run bench -- [options]

Compares Signalbox with a bare relay, with nginx where it is installed, and with no proxy at all, in one run on this machine.

  --quick         one short run: to see that everything works, not to quote
  --case NAME     only this case; may be given several times: ${CASES.map((testCase) => testCase.name).join(", ")}
  --peers         also Portkey and LiteLLM, which are installed into ~/.cache/signalbox-bench-peers (needs npm and Python 3)
  --runs N        runs of which the median is taken, 1 to 20 (default: 3)
  --help          this text

Writes bench/results/<time>.json and .md. About four minutes; --quick takes about half a minute.
`;

/** Reads the arguments; `help` where they request it, a sentence where they are wrong. */
export function readOptions(
  argv: readonly string[],
): Options | "help" | { readonly problem: string } {
  let values;
  try {
    ({ values } = parseArgs({
      args: [...argv],
      options: {
        quick: { type: "boolean", default: false },
        peers: { type: "boolean", default: false },
        case: { type: "string", multiple: true, default: [] },
        runs: { type: "string" },
        help: { type: "boolean", default: false },
      },
    }));
  } catch (error) {
    return { problem: error instanceof Error ? error.message : "the arguments cannot be read" };
  }
  if (values.help) return "help";
  const unknown = values.case.find((name) => !CASES.some((testCase) => testCase.name === name));
  if (unknown !== undefined)
    return {
      problem: `--case: there is no case of that name; cases are ${CASES.map(({ name }) => name).join(", ")}`,
    };
  const runs = values.runs ?? (values.quick ? "1" : "3");
  if (!/^([1-9]|1\d|20)$/.test(runs)) return { problem: "--runs: must be a number from 1 to 20" };
  const cases =
    values.case.length === 0
      ? CASES
      : CASES.filter((testCase) => values.case.includes(testCase.name));
  return { cases, runs: Number(runs), quick: values.quick, peers: values.peers };
}
