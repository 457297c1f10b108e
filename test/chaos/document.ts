import { COLUMNS, type Column } from "./columns.ts";
import { faultsOf, type Expected, type Fault } from "./faults.ts";
import { WAYS } from "./raw-upstream.ts";

const BEGINNING = `# Faults

What a client gets for each fault of a provider, without and with a healthy fallback.
Generated from what \`test/chaos/\` expects (\`npm run generate\`); [How we know](how-we-know.md#faults) says how it is tested.

- **answer**: the whole answer.
- **error**: an error in the surface's shape. A stream that has begun ends with the error of its own grammar.
- **fallback**: the fallback's whole answer.
- **fallback or error**: the fallback's answer if nothing of the first has left yet, which is usual.
- **answer or error**: the provider sent everything, and did not end as its protocol or HTTP demands.

A **duplicate** is an event that is sent twice. A router cannot distinguish it from text that is meant twice, so an answer may contain it twice.
`;

const ENDING = `
\`npm run bench -- soak\` plays such faults at random for minutes, and measures the memory.
`;

/** docs/faults.md. */
export function chaosDocument(): string {
  return [
    BEGINNING,
    "## Whole answers\n",
    ...table(COLUMNS.filter(({ stream }) => !stream)),
    "\n## Streams\n",
    ...table(COLUMNS.filter(({ stream }) => stream)),
    "\n## HTTP itself\n",
    "| The provider | Whole: alone | with a fallback | Streamed: alone | with a fallback |",
    "|---|---|---|---|---|",
    ...WAYS.filter(({ name }) => name !== "well").map(({ name, alone, withFallback }) =>
      row(
        name.replaceAll("-", " "),
        [false, true].flatMap((stream) => cellsOf(alone(stream), withFallback(stream))),
      ),
    ),
    row("nothing listens", [...cellsOf("failed", "whole"), ...cellsOf("failed", "whole")]),
    ENDING,
  ].join("\n");
}

function table(columns: readonly Column[]): readonly string[] {
  const rows = new Map<string, { readonly fault: Fault; readonly columns: Column[] }>();
  for (const column of columns) {
    for (const fault of faultsOf(column)) {
      const key = [fault.name, fault.alone, fault.withFallback].join("|");
      const known = rows.get(key) ?? { fault, columns: [] };
      known.columns.push(column);
      rows.set(key, known);
    }
  }
  return [
    "| Fault | Alone | With a fallback | Upstream protocols |",
    "|---|---|---|---|",
    ...[...rows.values()].map(({ fault, columns: having }) => {
      const all = new Set(columns.map(({ dialect }) => dialect));
      const some = new Set(having.map(({ dialect }) => dialect));
      const which =
        having.length === columns.length || some.size === all.size
          ? "all"
          : [...some].toSorted().join(", ");
      return row(fault.name, [...cellsOf(fault.alone, fault.withFallback), which]);
    }),
  ];
}

function cellsOf(alone: Expected, withFallback: Expected): readonly string[] {
  return [ALONE[alone], alone === "failed" ? SAVED[withFallback] : ALONE[withFallback]];
}

const ALONE: Readonly<Record<Expected, string>> = {
  whole: "answer",
  failed: "error",
  either: "answer or error",
};
const SAVED: Readonly<Record<Expected, string>> = {
  whole: "fallback",
  failed: "error",
  either: "fallback or error",
};

function row(first: string, cells: readonly string[]): string {
  return `| ${[first, ...cells].join(" | ")} |`;
}
