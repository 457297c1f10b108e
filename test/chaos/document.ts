import { COLUMNS, type Column } from "./columns.ts";
import { faultsOf, type Expected, type Fault } from "./faults.ts";
import { WAYS } from "./raw-upstream.ts";

const BEGINNING = `# Under every fault

What a client gets when a provider misbehaves. \`test/chaos/\` plays every line of these tables over real sockets: through a whole server with a real store, against
the [simulated provider](mock.md), over every surface, in the surface's own protocol and in foreign ones, alone and with a healthy fallback.
This file is generated from what those tests expect (\`npm run generate\`).

Of every request the tests demand besides:

- it ends, in the time that its providers have, with exactly one terminal of its surface's grammar;
- a success is the undamaged answer: the same text, the same reason to end, the same usage;
- a stream that fails after its beginning has sent a beginning of that answer, and nothing else;
- one decision record and one outcome record, whose terminal, status and attempts are what the client saw;
- nothing that the provider said of its failure stands in the body or the headers;
- no call is left under way, no connection open whose answer was not complete, no redirect followed, no exception unhandled.

**answer**: the whole one. **error**: an error in the surface's shape; a stream that has begun says in its own grammar that it failed. **fallback**: the
fallback's whole answer. **fallback or error**: the fallback's where nothing of the first answer has left yet, which it usually has. **answer or error**: the
provider had said everything, and not ended as its protocol or HTTP demands. A **duplicate** is an event sent twice: nobody can tell a piece of text that was said twice
from one that was meant twice, so an answer may have it twice.
`;

const ENDING = `
\`npm run soak\` asks a server at random for minutes, with faults of these at random, and measures its memory.
`;

/** docs/chaos.md. */
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
        [false, true].flatMap((stream) => words(alone(stream), withFallback(stream))),
      ),
    ),
    row("nobody listens", [...words("failed", "whole"), ...words("failed", "whole")]),
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
        having.length === columns.length || some.size === all.size ? "all" : [...some].toSorted().join(", ");
      return row(fault.name, [...words(fault.alone, fault.withFallback), which]);
    }),
  ];
}

function words(alone: Expected, withFallback: Expected): readonly string[] {
  return [ALONE[alone], alone === "failed" ? SAVED[withFallback] : ALONE[withFallback]];
}

const ALONE: Readonly<Record<Expected, string>> = { whole: "answer", failed: "error", either: "answer or error" };
const SAVED: Readonly<Record<Expected, string>> = {
  whole: "fallback",
  failed: "error",
  either: "fallback or error",
};

function row(first: string, cells: readonly string[]): string {
  return `| ${[first, ...cells].join(" | ")} |`;
}
