import { diffArrays } from "diff";
import type { SampleRequest } from "../../../../simulate/sample-request.ts";
import type { DiffLine, Tone } from "../../../document/document.ts";
import type {
  ChangeGroup,
  CandidateReport,
  ResultReport,
} from "../../../../simulate/report/report.ts";

/** A line about an endpoint; `note`: "was number 2, is number 1", "weighted 9 → weighted 1". */
interface CandidateLine extends Omit<DiffLine, "tone"> {
  readonly candidate: CandidateReport;
}

type Change = Pick<ChangeGroup, "kinds" | "base" | "head">;

const TONES = { "+": "good", "-": "stop", "~": "widen", "!": "widen" } as const;
/** A denial that is added takes something away. */
const DENIAL_TONES = { ...TONES, "+": "stop", "-": "good" } as const;

/** The results of base and head as one list; only marked lines differ. */
export function compareResults({ kinds, base, head }: Change): readonly DiffLine[] {
  const candidates = withHosts(comparePlans(base.plan, head.plan), base.plan);
  const shared = kinds.includes("sharing_changed")
    ? withSharing(candidates, base.plan, head.plan)
    : candidates;
  return [
    ...shared.map(({ mark, text, note }) => ({
      mark,
      text,
      note,
      tone: mark === null ? ("quiet" as const) : TONES[mark],
    })),
    ...compareTexts(DENIAL_TONES, denialLines(base), denialLines(head)),
    ...compareTexts(TONES, editLines(base), editLines(head)),
  ];
}

function denialLines({ outcome, denial }: ResultReport): readonly string[] {
  if (denial !== null) return [`denied by ${denial.policy}/${denial.constraint}: ${denial.reason}`];
  return outcome === "deny" ? ["denied"] : [];
}

function editLines({ edits }: ResultReport): readonly string[] {
  if (edits === null) return [];
  return [
    ...(edits.max_output_tokens === null
      ? []
      : [`at most ${edits.max_output_tokens} output tokens`]),
    ...edits.strip_fields.map((field) => `takes out ${field}`),
  ];
}

function compareTexts(
  tones: Readonly<Record<"+" | "-", Tone>>,
  base: readonly string[],
  head: readonly string[],
): readonly DiffLine[] {
  const line =
    (mark: "+" | "-" | null) =>
    (text: string): DiffLine => ({
      mark,
      text,
      note: "",
      tone: mark === null ? "quiet" : tones[mark],
    });
  return [
    ...base.filter((text) => !head.includes(text)).map(line("-")),
    ...head.filter((text) => base.includes(text)).map(line(null)),
    ...head.filter((text) => !base.includes(text)).map(line("+")),
  ];
}

/**
 * In the order of head, with base's removed endpoints at their old positions; a moved endpoint is
 * marked `~`.
 */
function comparePlans(
  base: readonly CandidateReport[],
  head: readonly CandidateReport[],
): readonly CandidateLine[] {
  const [before, after] = [base.map(candidateText), head.map(candidateText)];
  const candidates = new Map([...base, ...head].map((one) => [candidateText(one), one]));
  return diffArrays(before, after).flatMap(({ value, added, removed }) =>
    value.flatMap((text): readonly CandidateLine[] => {
      const candidate = candidates.get(text);
      if (candidate === undefined || (removed && after.includes(text))) return [];
      if (!added || !before.includes(text))
        return [{ mark: removed ? "-" : added ? "+" : null, text, candidate, note: "" }];
      const note = `was number ${before.indexOf(text) + 1}, is number ${after.indexOf(text) + 1}`;
      return [{ mark: "~", text, candidate, note }];
    }),
  );
}

/**
 * With both hosts of an endpoint whose provider has another host: without them both sides read the
 * same.
 */
function withHosts(
  lines: readonly CandidateLine[],
  base: readonly CandidateReport[],
): readonly CandidateLine[] {
  return lines.map((line) => {
    const was = base.find(({ endpoint }) => endpoint === line.candidate.endpoint);
    if (line.mark === "-" || was === undefined || was.host === line.candidate.host) return line;
    return { ...line, mark: "~", note: `${was.host} → ${line.candidate.host}` };
  });
}

/** With the balance of each endpoint: without it both sides of such a change read the same. */
function withSharing(
  lines: readonly CandidateLine[],
  base: readonly CandidateReport[],
  head: readonly CandidateReport[],
): readonly CandidateLine[] {
  return lines.map((line) => {
    const { mark, candidate } = line;
    if (mark === "+" || mark === "-") return { ...line, note: sharingText(candidate) };
    const was = base.find(({ endpoint }) => endpoint === candidate.endpoint);
    const is = head.find(({ endpoint }) => endpoint === candidate.endpoint);
    if (was === undefined || is === undefined) return line;
    const change = sharingChange(was, is);
    return change === null ? line : { ...line, mark: "~", note: change };
  });
}

/**
 * "weighted 9 → weighted 1", "tier 1 → tier 2"; `null` where both sides share the endpoint alike.
 */
function sharingChange(was: CandidateReport, is: CandidateReport): string | null {
  if (sharingText(was) === sharingText(is)) return null;
  const shown = was.tier === is.tier ? balanceText : sharingText;
  return `${shown(was)} → ${shown(is)}`;
}

/**
 * "tier 1, weighted 9": its rank, counted from 1 for people, and how it is shared with its equals.
 */
function sharingText(candidate: CandidateReport) {
  return `tier ${candidate.tier + 1}, ${balanceText(candidate)}`;
}

/** A weight is printed even where another balance ignores it: it may be the only difference. */
function balanceText({ balance, weight }: CandidateReport) {
  return balance === "weighted"
    ? `weighted ${weight}`
    : `${balance.replaceAll("_", " ")}, weight ${weight}`;
}

/** "azure-eu: gpt-5 at azure in eu-west". */
function candidateText({ endpoint, model, provider, region }: CandidateReport) {
  return `${endpoint}: ${model} at ${provider} in ${region}`;
}

/**
 * The conditions that all requests of a group meet, as names and values; dimensions of which they
 * have every value are omitted.
 */
export function commonOf(
  group: ChangeGroup,
): readonly { readonly name: string; readonly values: readonly string[] }[] {
  return [
    { name: group.workspaces.length === 1 ? "workspace" : "workspaces", values: group.workspaces },
    { name: group.operations.length === 1 ? "operation" : "operations", values: group.operations },
    ...group.conditions.map(({ dimension, values }) => ({ name: dimension, values })),
  ];
}

/** A request in one line, without its absent members. */
export function sampleText(sample: SampleRequest): string {
  const { key, preferences, time } = sample;
  const clocks = Object.entries(time.local ?? {}).map(
    ([zone, { weekday, hour }]) => `${zone} ${weekday} ${hour}:00`,
  );
  const parts: (readonly [string, string])[] = [
    ["environment", key.environment],
    ["workload", key.workload],
    ["owner", key.owner ?? ""],
    ["labels", key.labels.join(" ")],
    ["needs", sample.needs.join(" ")],
    ["features", sample.features.join(" ")],
    ["signature families", sample.signatureFamilies.join(" ")],
    ["stream", sample.stream ? "yes" : ""],
    ["context", chosen(sample.context)],
    ["max output", chosen(sample.maxOutput)],
    ["reasoning effort", chosen(sample.reasoningEffort)],
    ["dimensions", sample.dimensions === null ? "" : String(sample.dimensions)],
    ["preferences", preferences === null ? "" : JSON.stringify(preferences)],
    ["budget", sample.budget ?? ""],
    ["time", [`${time.day} ${time.hour}`, ...clocks].join(" ")],
  ];
  const model = sample.model === "" ? "no model" : sample.model;
  const named = parts
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `${name} ${value}`);
  return [`${sample.workspace} requests ${sample.operation} of ${model}`, ...named].join(", ");
}

/** Empty for the default. */
function chosen(value: string) {
  return value === "unspecified" ? "" : value;
}
