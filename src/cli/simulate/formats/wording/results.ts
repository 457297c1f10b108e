import { diffArrays } from "diff";
import type { SampleRequest } from "../../../../simulate/sample-request.ts";
import type { DiffLine, Tone } from "../../../document/document.ts";
import type {
  ChangeGroup,
  CandidateReport,
  ResultReport,
} from "../../../../simulate/report/report.ts";

const TONES = { "+": "good", "-": "stop", "~": "widen", "!": "widen" } as const;
/** A denial that is added takes something away. */
const DENIAL_TONES = { ...TONES, "+": "stop", "-": "good" } as const;

/** The results of base and head as one list; only marked lines differ. */
export function compareResults({
  kinds,
  base,
  head,
}: Pick<ChangeGroup, "kinds" | "base" | "head">): readonly DiffLine[] {
  return [
    ...comparePlans(base.plan, head.plan, kinds.includes("sharing_changed")),
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
    (text: string): DiffLine => {
      return { mark, text, note: "", tone: mark === null ? "quiet" : tones[mark] };
    };
  return [
    ...base.filter((text) => !head.includes(text)).map(line("-")),
    ...head.filter((text) => base.includes(text)).map(line(null)),
    ...head.filter((text) => !base.includes(text)).map(line("+")),
  ];
}

/**
 * In the order of head, with base's removed endpoints at their old positions; a moved endpoint is
 * marked `~`. An endpoint whose provider has another host has both hosts as its note, and one that
 * is shared otherwise both ways: without them both sides read the same.
 */
function comparePlans(
  base: readonly CandidateReport[],
  head: readonly CandidateReport[],
  showsSharing: boolean,
): readonly DiffLine[] {
  const [before, after] = [base.map(candidateText), head.map(candidateText)];
  const candidates = new Map([...base, ...head].map((one) => [candidateText(one), one]));
  return diffArrays(before, after).flatMap(({ value, added, removed }) =>
    value.flatMap((text): readonly DiffLine[] => {
      const candidate = candidates.get(text);
      if (candidate === undefined || (removed && after.includes(text))) return [];
      const line = (mark: DiffLine["mark"], note = "") => [
        { mark, text, note, tone: mark === null ? ("quiet" as const) : TONES[mark] },
      ];
      const [was, is] = [base, head].map((plan) =>
        plan.find(({ endpoint }) => endpoint === candidate.endpoint),
      );
      const isReordered = added && before.includes(text);
      const changesHost = !removed && was !== undefined && was.host !== candidate.host;
      const isOnBothSides = isReordered || changesHost || !(added || removed);
      const sharing = !showsSharing
        ? null
        : !isOnBothSides
          ? sharingText(candidate)
          : was && is && sharingChange(was, is);
      const mark = removed ? "-" : added ? "+" : null;
      if (sharing) return line(isOnBothSides ? "~" : mark, sharing);
      if (changesHost) return line("~", `${was.host} → ${candidate.host}`);
      if (!isReordered) return line(mark);
      return line(
        "~",
        `was number ${before.indexOf(text) + 1}, is number ${after.indexOf(text) + 1}`,
      );
    }),
  );
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
    ["context", statedText(sample.context)],
    ["max output", statedText(sample.maxOutput)],
    ["reasoning effort", statedText(sample.reasoningEffort)],
    ["dimensions", sample.dimensions === null ? "" : String(sample.dimensions)],
    ["preferences", preferences === null ? "" : JSON.stringify(preferences)],
    ["budget", sample.budget ?? ""],
    ["time", [`${time.day} ${time.hour}`, ...clocks].join(" ")],
  ];
  const model = sample.model === "" ? "no model" : sample.model;
  const details = parts
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `${name} ${value}`);
  return [`${sample.workspace} requests ${sample.operation} of ${model}`, ...details].join(", ");
}

/** Empty for the default. */
function statedText(value: string) {
  return value === "unspecified" ? "" : value;
}
