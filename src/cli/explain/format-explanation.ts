import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import type { SourceLocation } from "../../simulate/report/report.ts";
import {
  isEmptyText,
  quoted,
  strong,
  type Item,
  type Section,
  type Text,
  type Tone,
} from "../document/document.ts";
import { inlineLine, sectionLines } from "../document/terminal.ts";
import { objectOf, objectsOf, stringsOf, textOf } from "../terminal/call-server.ts";
import type { CommandIo } from "../terminal/command-io.ts";
import { printable, printLines } from "../terminal/printing.ts";

/** Prints an explanation: the outcome, every candidate with every constraint, the other facts. */
export function printExplanation(
  explanation: JsonObject,
  notes: readonly string[],
  io: CommandIo,
): void {
  const tone = explanation["outcome"] === "deny" ? "stop" : "good";
  printDocument(strong(headline(explanation), tone), explanationSections(explanation, notes), io);
}

/** Lines are wrapped on a terminal only: programs look for the location at their ends. */
export function printDocument(head: Text, sections: readonly Section[], io: CommandIo): void {
  printLines([inlineLine(head), ...sectionLines(sections, true)], io, Number.POSITIVE_INFINITY);
}

export function explanationSections(
  explanation: JsonObject,
  notes: readonly string[],
): readonly Section[] {
  return [
    listSection("Denied by", factItems(contactFacts(explanation))),
    listSection("Request", factItems(requestFacts(explanation))),
    {
      ...listSection("Candidates", candidateItems(explanation)),
      note: "✓ passes, ✗ fails, ? cannot be evaluated, · not evaluated",
    },
    listSection("Obligations", objectsOf(explanation, "obligations").map(obligationItem)),
    listSection(
      "On its way to the provider",
      textItems([editText(objectOf(explanation, "edits"))]),
    ),
    listSection("If every candidate policy were promoted", textItems([promotedText(explanation)])),
    listSection("Notes", textItems([...callNotes(explanation), ...notes.map(printable)])),
  ];
}

/** A section with all of its items; nothing is printed without items. */
export function listSection(title: string, items: readonly Item[]): Section {
  const blocks = [{ noun: "line", items, most: Number.POSITIVE_INFINITY }];
  return { id: title, title, note: "", blocks };
}

/** Facts by name; empty ones are left out. A string may hold names from files. */
export function factItems(facts: Readonly<Record<string, Text | number>>): readonly Item[] {
  return Object.entries(facts).flatMap(([name, fact]) => {
    const text = typeof fact === "string" || typeof fact === "number" ? quoted(fact) : fact;
    return isEmptyText(text) ? [] : [{ cells: [name, text] }];
  });
}

function textItems(texts: readonly string[]): readonly Item[] {
  return texts.flatMap((text) => (text === "" ? [] : [{ cells: [quoted(text)] }]));
}

function requestFacts(explanation: JsonObject) {
  const [time, shape, key] = ["time", "shape", "key"].map((member) =>
    objectOf(explanation, member),
  );
  const route = textOf(explanation, "route") || textOf(explanation, "model");
  return {
    request: [
      textOf(explanation, "operation"),
      ...(shape?.["stream"] === true ? ["streamed"] : []),
      ...labelledTexts(shape, SHAPE_LABELS),
    ].join(", "),
    route: located(quoted(route), explanation["route_location"]),
    workspace: located(quoted(textOf(explanation, "workspace")), explanation["workspace_location"]),
    key: labelledTexts(
      { ...key, ...(key?.["owner"] === "other" && { owner: null }) },
      KEY_LABELS,
    ).join(", "),
    budget: textOf(explanation, "budget"),
    time: timeText(time),
    policies: explanation["promoted"] === true ? "as if every candidate were promoted" : null,
  };
}

/** `weekday/night, Europe/Berlin friday 23:00`. */
function timeText(time: JsonObject | null = null): string {
  if (time === null) return "";
  const local = Object.entries(objectOf(time, "local") ?? {}).flatMap(([zone, clock]) =>
    isJsonObject(clock) ? [`${zone} ${textOf(clock, "weekday")} ${textOf(clock, "hour")}:00`] : [],
  );
  return [`${textOf(time, "day")}/${textOf(time, "hour")}`, ...local].join(", ");
}

const SHAPE_LABELS = {
  needs: "needs",
  features: "uses",
  context: "context",
  max_output: "output",
  reasoning_effort: "reasoning effort",
  dimensions: "dimensions",
  signature_families: "signed by",
};
const KEY_LABELS = {
  environment: "environment",
  workload: "workload",
  owner: "owner",
  labels: "labels",
};

/** Members with a value, after their labels. */
function labelledTexts(
  object: JsonObject | null | undefined,
  labels: Readonly<Record<string, string>>,
): readonly string[] {
  return Object.entries(labels).flatMap(([member, label]) => {
    const value = stringsOf(object ?? null, member).join(" + ") || textOf(object ?? null, member);
    return value === "" || value === "unspecified" ? [] : [`${label} ${value}`];
  });
}

/** In the order of the plan, then the others in the order of the table. */
function candidateItems(explanation: JsonObject): readonly Item[] {
  const plan = objectsOf(explanation, "plan").map((candidate) => textOf(candidate, "endpoint"));
  const rankOf = (candidate: JsonObject): number => {
    const index = plan.indexOf(textOf(candidate, "endpoint"));
    return index < 0 ? plan.length : index;
  };
  const constraints = objectsOf(explanation, "constraints");
  const effects = constraints.map((entry) => textOf(entry, "effect"));
  const candidates = objectsOf(explanation, "candidates");
  // Without a route there are no candidates; the first constraint states why.
  if (candidates.length === 0)
    return constraints.slice(0, 1).map((entry) => ({ cells: verdictCells(entry, effects[0]) }));
  return candidates
    .toSorted((left, right) => rankOf(left) - rankOf(right))
    .map((candidate) => {
      const rank = rankOf(candidate);
      const excluded = explanation["outcome"] === "deny" ? "–" : "– left out:";
      const text = located(
        [
          `${rank < plan.length ? `${rank + 1}.` : excluded} `,
          strong(textOf(candidate, "endpoint")),
          quoted(
            ` (${textOf(candidate, "rank")}): ${textOf(candidate, "model")} at ${textOf(candidate, "provider")}, ${textOf(candidate, "region")}`,
          ),
        ],
        candidate["location"],
      );
      const details = objectsOf(candidate, "constraints").map((verdict, index) =>
        verdictCells(verdict, effects[index]),
      );
      return { cells: [text], details };
    });
}

const MARKS: ReadonlyMap<string, readonly [mark: string, tone: Tone | null]> = new Map([
  ["pass", ["✓", null]],
  ["fail", ["✗", "stop"]],
  ["not_asked", ["·", null]],
]);

/** The consequence for a candidate that does not pass. */
const EFFECTS: ReadonlyMap<string, string> = new Map([
  ["narrowed", "left out for it"],
  ["denied", "denies the request"],
  ["would_narrow", "would be left out"],
  ["would_deny", "would deny the request"],
]);

function verdictCells(verdict: JsonObject, effect: string = ""): readonly [string, Text] {
  const [mark, tone] = MARKS.get(textOf(verdict, "verdict")) ?? ["?", "widen"];
  const policy = textOf(verdict, "policy");
  const isBuiltIn = policy === "approvals" || policy === "preferences";
  const slot = isBuiltIn ? "" : ` (${textOf(verdict, "slot")})`;
  const consequence = tone === null ? "" : (EFFECTS.get(effect) ?? "");
  const why = [textOf(verdict, "reason"), consequence].filter((part) => part !== "").join(", ");
  const text = `${policy}/${textOf(verdict, "constraint")}${slot}${why === "" ? "" : `: ${why}`}`;
  return [mark, located(tone === null ? quoted(text) : strong(text, tone), verdict["location"])];
}

function obligationItem(obligation: JsonObject): Item {
  const name = `${textOf(obligation, "policy")}/${textOf(obligation, "obligation")} (${textOf(obligation, "slot")})`;
  const effect = textOf(obligation, "effect");
  const consequence =
    effect === "none" ? "changes nothing here" : effect === "applied" ? "applies" : "would apply";
  return {
    cells: [
      located(
        quoted(
          `${name}: ${textOf(obligation, "kind")} ${textOf(obligation, "value")}, ${consequence}`,
        ),
        obligation["location"],
      ),
    ],
  };
}

/** A text with its location in the files, where that is known. */
function located(text: Text, location: JsonObject[string]): Text {
  const shown = formatLocation(location);
  return shown === ""
    ? text
    : [text, "  ", { kind: "location", text: shown } as const].flat<readonly Text[]>();
}

/** The age of an endpoint's measurements; empty if unknown. */
function measuredNote(candidate: JsonObject): string {
  const latency = objectOf(objectOf(candidate, "status") ?? {}, "latency_ms");
  const [recent, age] = [latency?.["recent"], latency?.["age_ms"]];
  if (typeof recent !== "number" || typeof age !== "number") return "";
  const seconds = Math.round(age / 1000);
  return `${textOf(candidate, "endpoint")}: ${recent} ms of latency, measured ${seconds} s ago`;
}

/** Facts about a call that the plan does not show; empty texts are not printed. */
function callNotes(explanation: JsonObject): readonly string[] {
  const plan = objectsOf(explanation, "plan");
  const equals = tiersOf(plan).filter(({ length }) => length > 1);
  const atDispatch = objectsOf(explanation, "constraints").filter(
    ({ reason }) => reason === "ORDERED_AT_DISPATCH",
  );
  const error = explanation["outcome"] === "route" ? objectOf(explanation, "error") : null;
  return [
    explanation["max_candidates"] === 1
      ? "the caller allows no fallbacks: only the first choice is evaluated and tried"
      : "",
    ...equals.map((tier) => {
      const names = tier.map((candidate) => textOf(candidate, "endpoint")).join(" and ");
      const balance = textOf(tier[0] ?? null, "balance");
      return isArranged(explanation)
        ? `${names} have equal rank: in the order of a call that began now (balance: ${balance})`
        : `${names} have equal rank: ordered at dispatch (balance: ${balance})`;
    }),
    ...atDispatch.map(
      (entry) => `${textOf(entry, "constraint")}: ordered at dispatch, by what is measured then`,
    ),
    ...plan.map(measuredNote),
    ...plan
      .filter(({ available }) => available === false)
      .map(
        (candidate) =>
          `${textOf(candidate, "endpoint")}: the server has no access to ${textOf(candidate, "provider")} now`,
      ),
    error === null
      ? ""
      : `a call now would get ${textOf(error, "status")}: ${textOf(error, "message")}`,
  ];
}

/** The outcome in one line. */
function headline(explanation: JsonObject): string {
  const denial = objectOf(explanation, "denial");
  if (denial !== null) {
    const error = objectOf(explanation, "error");
    return `DENIED by ${denialText(denial)}, ${textOf(error, "status")}: ${textOf(error, "message")}`;
  }
  const only = explanation["max_candidates"] === 1 ? ", and nowhere else" : "";
  const plan = objectsOf(explanation, "plan");
  return `ROUTED to ${planText(plan, isArranged(explanation))}${only}`;
}

/** The policy that denies, and whom to ask about it. */
function contactFacts(explanation: JsonObject) {
  const policy = objectOf(objectOf(explanation, "denial"), "policy");
  return {
    policy: textOf(policy, "title"),
    owners: stringsOf(policy, "owners").join(", "),
    link: textOf(policy, "link"),
  };
}

/** `eu-residency/processed_in_eu: NOT_IN_EU` */
function denialText(denial: JsonObject): string {
  const policy = textOf(objectOf(denial, "policy"), "id");
  return `${policy}/${textOf(denial, "failed_constraint")}: ${textOf(denial, "reason_code")}`;
}

/** Whether the server has sorted the plan as a call would try it now. */
function isArranged(explanation: JsonObject) {
  return objectOf(explanation, "arrangement")?.["by_chance"] === false;
}

/** Candidates of equal rank together. */
function tiersOf(plan: readonly JsonObject[]) {
  return [...Map.groupBy(plan, ({ tier }) => tier).values()];
}

/**
 * `a or b, then c`: equals are put in order when a call is made. `a, then b` where the server has
 * sorted them.
 */
function planText(plan: readonly JsonObject[], isSorted: boolean): string {
  const tiers = isSorted ? plan.map((one) => [one]) : tiersOf(plan);
  return tiers
    .map((tier) => tier.map((candidate) => textOf(candidate, "endpoint")).join(" or "))
    .join(", then ");
}

/** The outcome if every candidate policy were promoted; empty if nothing would change. */
function promotedText(explanation: JsonObject): string {
  const promoted = objectOf(explanation, "if_promoted");
  if (promoted === null) return "";
  const denial = objectOf(promoted, "denial");
  if (denial !== null) return `DENIED by ${denialText(denial)}`;
  const edits = editText(objectOf(promoted, "edits"));
  return `ROUTED to ${stringsOf(promoted, "plan").join(", ")}${edits === "" ? "" : `; ${edits}`}`;
}

/** `at most 500 tokens of output, without user`; empty where nothing is changed. */
function editText(edits: JsonObject | null): string {
  const most = textOf(edits, "max_output_tokens");
  const fields = stringsOf(edits, "strip_fields");
  return [
    most === "" ? "" : `at most ${most} tokens of output`,
    fields.length === 0 ? "" : `without ${fields.join(", ")}`,
  ]
    .filter(Boolean)
    .join(", ");
}

/** `routes.yaml:12:3`, `policies/a.rego:4:1 in base`; the empty string where unknown. */
export function formatLocation(location: SourceLocation | JsonValue | undefined): string {
  if (!isJsonObject(location)) return "";
  const { file, line, column } = location;
  if (typeof file !== "string" || typeof line !== "number" || typeof column !== "number") return "";
  return `${printable(file)}:${line}:${column}${"side" in location && location["side"] === "base" ? " in base" : ""}`;
}
