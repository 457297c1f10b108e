import { cpus } from "node:os";
import type { Case } from "./cases.ts";
import type { Cores } from "./children.ts";
import { medians, type Figures } from "./measure.ts";
import { BASELINE } from "./subjects.ts";

export interface SubjectResult {
  readonly subject: string;
  readonly runs: readonly Figures[];
}

export interface CaseResult {
  readonly testCase: Case;
  readonly subjects: readonly SubjectResult[];
}

export interface Report {
  readonly cores: Cores;
  readonly runs: number;
  readonly quick: boolean;
  readonly absent: readonly string[];
  readonly cases: readonly CaseResult[];
}

/** The report as JSON: every run, the medians, and where it was measured. */
export function toJson(report: Report, at: Date): string {
  const cases = report.cases.map(({ testCase, subjects }) => ({
    ...testCase,
    subjects: subjects.map(({ subject, runs }) => ({ subject, median: medians(runs), runs })),
  }));
  return `${JSON.stringify({ at: at.toISOString(), machine: machine(), ...report, cases }, null, 2)}\n`;
}

/** The report as tables, one for each case. */
export function toMarkdown(report: Report, at: Date): string {
  const { node, processor, count } = machine();
  const runs = report.runs === 1 ? "one run" : `medians of ${report.runs} runs`;
  const lines = [
    `# Benchmark of ${at.toISOString().slice(0, 16).replace("T", " ")} UTC`,
    "",
    `Node ${node}; ${count} × ${processor}; ${runs}${report.quick ? ", quick: counts are too small to quote" : ""}. ${pinning(report.cores)}`,
    ...report.absent,
    ...report.cases.flatMap(caseLines),
  ];
  return `${lines.join("\n")}\n`;
}

function machine(): { readonly node: string; readonly processor: string; readonly count: number } {
  const all = cpus();
  return {
    node: process.version,
    processor: all[0]?.model.trim() ?? "unknown processor",
    count: all.length,
  };
}

function pinning({ subject, rest }: Cores): string {
  if (subject === null)
    return "Not pinned to cores (no taskset, or a single core): figures vary with whatever else the machine does.";
  return `Subject alone on core ${subject}, load generator and upstream on core ${rest ?? "?"}.`;
}

const HEADINGS = [
  "subject",
  "CPU µs/request",
  "all runs",
  "× bare relay",
  "requests/s",
  "p50 ms",
  "p99 ms",
  "first byte p50 ms",
  "p99 ms",
  "memory MB",
];

function caseLines({ testCase, subjects }: CaseResult): readonly string[] {
  const measured = subjects.filter(({ runs }) => runs.length > 0);
  const rows = measured.map(({ subject, runs }) => ({ subject, runs, figures: medians(runs) }));
  const baseline = rows.find((row) => row.subject === BASELINE)?.figures.cpuMicroseconds ?? null;
  const cells = rows.map(({ subject, runs, figures }) => [
    figures.rate === testCase.rate ? subject : `${subject} (at ${figures.rate}/s)`,
    show(figures.cpuMicroseconds, 0),
    spread(runs),
    figures.cpuMicroseconds === null || baseline === null
      ? "–"
      : show(figures.cpuMicroseconds / baseline, 2),
    show(figures.requestsPerSecond, 0),
    show(figures.p50, 2),
    show(figures.p99, 2),
    show(figures.firstByteP50, 2),
    show(figures.firstByteP99, 2),
    show(figures.residentMegabytes, 0),
  ]);
  return [
    "",
    `## ${testCase.title}: latency at ${testCase.rate} requests/s`,
    "",
    ...table([HEADINGS, ...cells]),
  ];
}

/** The least and the most CPU of the runs: what lies within it is noise. */
function spread(runs: readonly Figures[]): string {
  const values = runs.map((run) => run.cpuMicroseconds).filter((value) => value !== null);
  return values.length < 2
    ? "–"
    : `${Math.min(...values).toFixed(0)} to ${Math.max(...values).toFixed(0)}`;
}

function show(value: number | null, digits: number): string {
  return value === null ? "–" : value.toFixed(digits);
}

/** The first column to the left, numbers to the right. */
function table(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = HEADINGS.map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join(" | ")} |`;
  const rule = `| ${widths.map((width, column) => (column === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`)).join(" | ")} |`;
  return [line(rows[0] ?? []), rule, ...rows.slice(1).map(line)];
}
