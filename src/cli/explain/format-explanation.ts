import { type JsonObject, isJsonObject, type JsonValue } from "../../canon/json.ts";
import { objectOf, objectsOf, stringsOf, textOf } from "../terminal/call-server.ts";
import type { SourceLocation } from "../../simulate/report/location.ts";
import { painter, printable, type Paint, type Style } from "../terminal/printing.ts";

/**
 * An explanation as a tree: the outcome, then every candidate with every constraint, then the other
 * facts.
 */
export function formatExplanation(
  explanation: JsonObject,
  notes: readonly string[],
  colour: boolean,
): string {
  const paint = painter(colour);
  const isDenied = explanation["outcome"] === "deny";
  const promoted = promotedLine(explanation);
  const edits = editText(objectOf(explanation, "edits"));
  return [
    paint(isDenied ? "red" : "green", headline(explanation)),
    "",
    ...requestLines(explanation, paint),
    "",
    ...candidateLines(explanation, paint),
    ...section(
      "obligations",
      objectsOf(explanation, "obligations").map((one) => obligationLine(one, paint)),
      paint,
    ),
    ...section("on its way to the provider", edits === "" ? [] : [edits], paint),
    ...section(
      "if every candidate policy were promoted",
      promoted === null ? [] : [promoted],
      paint,
    ),
    ...section("notes", [...ownNotes(explanation), ...notes.map((note) => printable(note))], paint),
    "",
    paint(
      "dim",
      "✓ passes  ✗ does not pass  ? cannot be evaluated  · not evaluated, because the candidate was left out earlier",
    ),
    "",
  ].join("\n");
}

function section(title: string, lines: readonly string[], paint: Paint): readonly string[] {
  return lines.length === 0 ? [] : ["", paint("bold", title), ...lines.map((line) => `  ${line}`)];
}

function requestLines(explanation: JsonObject, paint: Paint): readonly string[] {
  const [route, workspace] = [textOf(explanation, "route"), textOf(explanation, "workspace")];
  const model = textOf(explanation, "model");
  const time = objectOf(explanation, "time");
  const rows: readonly (readonly [string, string])[] = [
    [
      "request",
      [textOf(explanation, "operation"), ...shapeTexts(objectOf(explanation, "shape"))].join(", "),
    ],
    ["route", withLocation(route === "" ? model : route, explanation["route_place"], paint)],
    ["workspace", withLocation(workspace, explanation["workspace_place"], paint)],
    ["key", keyText(objectOf(explanation, "key"))],
    ["budget", textOf(explanation, "budget")],
    ["time", time === null ? "" : `${textOf(time, "day")}/${textOf(time, "hour")}`],
    ["policies", explanation["promoted"] === true ? "as if every candidate were promoted" : ""],
  ];
  return rows
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `${paint("bold", name.padEnd(10))}${value}`);
}

function shapeTexts(shape: JsonObject | null): readonly string[] {
  const said = (label: string, name: string): readonly string[] => {
    const value = textOf(shape, name);
    return value === "" || value === "unspecified" ? [] : [`${label} ${value}`];
  };
  const listed = (label: string, name: string): readonly string[] => {
    const values = stringsOf(shape, name);
    return values.length === 0 ? [] : [`${label} ${values.join(" + ")}`];
  };
  return [
    ...(shape?.["stream"] === true ? ["streamed"] : []),
    ...listed("needs", "needs"),
    ...listed("uses", "features"),
    ...said("context", "context"),
    ...said("output", "max_output"),
    ...said("reasoning effort", "reasoning_effort"),
    ...said("dimensions", "dimensions"),
    ...listed("signed by", "signature_families"),
  ];
}

function keyText(key: JsonObject | null): string {
  const labels = stringsOf(key, "labels");
  const workload = textOf(key, "workload");
  const owner = textOf(key, "owner");
  return [
    ...(key === null ? [] : [`environment ${textOf(key, "environment")}`]),
    ...(workload === "" ? [] : [`workload ${workload}`]),
    ...(owner === "" || owner === "other" ? [] : [`owner ${owner}`]),
    ...(labels.length === 0 ? [] : [`labels ${labels.join(" + ")}`]),
  ].join(", ");
}

/** In the order of the plan, then those that are not in it, in the order of the table. */
function candidateLines(explanation: JsonObject, paint: Paint): readonly string[] {
  const candidates = objectsOf(explanation, "candidates");
  const plan = objectsOf(explanation, "plan").map((candidate) => textOf(candidate, "endpoint"));
  const rankOf = (candidate: JsonObject): number => {
    const index = plan.indexOf(textOf(candidate, "endpoint"));
    return index < 0 ? plan.length : index;
  };
  const ordered = candidates.toSorted((left, right) => rankOf(left) - rankOf(right));
  const effects = objectsOf(explanation, "constraints").map((entry) => textOf(entry, "effect"));
  if (ordered.length === 0) {
    const [entry] = objectsOf(explanation, "constraints");
    return entry === undefined ? [] : [`└─ ${verdictLine(entry, effects[0] ?? "", paint)}`];
  }
  return ordered.flatMap((candidate, index) => {
    const isLast = index === ordered.length - 1;
    const rank = rankOf(candidate);
    const number =
      rank < plan.length ? `${rank + 1}.` : explanation["outcome"] === "deny" ? "–" : "– left out:";
    const verdicts = objectsOf(candidate, "constraints");
    const lines = verdicts.map((verdict, entry) => {
      const branch = entry === verdicts.length - 1 ? "└─" : "├─";
      return `${isLast ? "   " : "│  "}${branch} ${verdictLine(verdict, effects[entry] ?? "", paint)}`;
    });
    return [`${isLast ? "└─" : "├─"} ${number} ${candidateText(candidate, paint)}`, ...lines];
  });
}

function candidateText(candidate: JsonObject, paint: Paint): string {
  const [endpoint, rank] = [textOf(candidate, "endpoint"), textOf(candidate, "rank")];
  const where = `${textOf(candidate, "model")} at ${textOf(candidate, "provider")}, ${textOf(candidate, "region")}`;
  return withLocation(`${paint("bold", endpoint)} (${rank}): ${where}`, candidate["place"], paint);
}

const MARKS: ReadonlyMap<string, readonly [string, Style]> = new Map([
  ["pass", ["✓", "green"]],
  ["fail", ["✗", "red"]],
  ["indeterminate", ["?", "yellow"]],
  ["not_asked", ["·", "dim"]],
]);

/** What follows for a candidate that did not pass. */
const EFFECTS: ReadonlyMap<string, string> = new Map([
  ["narrowed", "left out for it"],
  ["denied", "denies the request"],
  ["would_narrow", "would be left out"],
  ["would_deny", "would deny the request"],
]);

function verdictLine(verdict: JsonObject, effect: string, paint: Paint): string {
  const result = textOf(verdict, "verdict");
  const [mark, style] = MARKS.get(result) ?? ["?", "yellow"];
  const [policy, reason] = [textOf(verdict, "policy"), textOf(verdict, "reason")];
  const isOwn = policy === "approvals" || policy === "preferences";
  const slot = isOwn ? "" : ` (${textOf(verdict, "slot")})`;
  const followed = result === "pass" || result === "not_asked" ? undefined : EFFECTS.get(effect);
  const said = [reason, followed ?? ""].filter((part) => part !== "").join(", ");
  const text = `${policy}/${textOf(verdict, "constraint")}${slot}${said === "" ? "" : `: ${said}`}`;
  return withLocation(`${paint(style, mark)} ${text}`, verdict["place"], paint);
}

function obligationLine(obligation: JsonObject, paint: Paint): string {
  const what = `${textOf(obligation, "policy")}/${textOf(obligation, "obligation")} (${textOf(obligation, "slot")})`;
  const effect = textOf(obligation, "effect");
  const followed =
    effect === "none" ? "changes nothing here" : effect === "applied" ? "applies" : "would apply";
  const text = `${what}: ${textOf(obligation, "kind")} ${textOf(obligation, "value")}, ${followed}`;
  return withLocation(text, obligation["place"], paint);
}

function withLocation(text: string, location: JsonObject[string], paint: Paint): string {
  const shown = formatLocation(location);
  return shown === "" ? text : `${text}  ${paint("dim", shown)}`;
}

/** The age of an endpoint's measurements; nothing where there are none, or their age is unknown. */
function measuredNote(candidate: JsonObject): readonly string[] {
  const latency = objectOf(objectOf(candidate, "standing") ?? {}, "latency_ms");
  const [recent, age] = [latency?.["recent"], latency?.["age_ms"]];
  if (typeof recent !== "number" || typeof age !== "number") return [];
  const seconds = Math.round(age / 1000);
  return [`${textOf(candidate, "endpoint")}: ${recent} ms of latency, measured ${seconds} s ago`];
}

/** Facts of the call that a plan does not show. */
function ownNotes(explanation: JsonObject): readonly string[] {
  const plan = objectsOf(explanation, "plan");
  const equals = [...Map.groupBy(plan, ({ tier }) => tier).values()].filter(
    ({ length }) => length > 1,
  );
  const atDispatch = objectsOf(explanation, "constraints").filter(
    ({ reason }) => reason === "ORDERED_AT_DISPATCH",
  );
  const error = explanation["outcome"] === "route" ? objectOf(explanation, "error") : null;
  return [
    ...(explanation["max_places"] === 1
      ? ["the caller allows no fallbacks: only the first choice is evaluated and tried"]
      : []),
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
    ...plan.flatMap((candidate) => measuredNote(candidate)),
    ...plan
      .filter(({ available }) => available === false)
      .map(
        (candidate) =>
          `${textOf(candidate, "endpoint")}: the server has no access to ${textOf(candidate, "provider")} now`,
      ),
    ...(error === null
      ? []
      : [`a call now would get ${textOf(error, "status")}: ${textOf(error, "message")}`]),
  ];
}

/** What becomes of the request, in one line. */
function headline(explanation: JsonObject): string {
  const denial = objectOf(explanation, "denial");
  if (denial !== null) {
    const error = objectOf(explanation, "error");
    return `DENIED by ${denialText(denial)}, ${textOf(error, "status")}: ${textOf(error, "message")}`;
  }
  const only = explanation["max_places"] === 1 ? ", and nowhere else" : "";
  const plan = objectsOf(explanation, "plan");
  return `ROUTED to ${isArranged(explanation) ? arrangedText(plan) : planText(plan)}${only}`;
}

/** `eu-residency/processed_in_eu: NOT_IN_EU` */
function denialText(denial: JsonObject): string {
  const policy = textOf(objectOf(denial, "policy"), "id");
  return `${policy}/${textOf(denial, "failed_constraint")}: ${textOf(denial, "reason_code")}`;
}

/**
 * A server has put the plan in the order in which a call would try it now, and chance has no part
 * in it.
 */
function isArranged(explanation: JsonObject): boolean {
  return objectOf(explanation, "arrangement")?.["by_chance"] === false;
}

/** `a, then b` */
function arrangedText(plan: readonly JsonObject[]): string {
  return plan.map((candidate) => textOf(candidate, "endpoint")).join(", then ");
}

/** `a or b, then c`: equals are put in order when a call is made. */
function planText(plan: readonly JsonObject[]): string {
  const tiers = Map.groupBy(plan, ({ tier }) => tier);
  return [...tiers.values()]
    .map((tier) => tier.map((candidate) => textOf(candidate, "endpoint")).join(" or "))
    .join(", then ");
}

/** What would become of it if every candidate were promoted; `null` where nothing would change. */
function promotedLine(explanation: JsonObject): string | null {
  const promoted = objectOf(explanation, "if_promoted");
  if (promoted === null) return null;
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
    ...(most === "" ? [] : [`at most ${most} tokens of output`]),
    ...(fields.length === 0 ? [] : [`without ${fields.join(", ")}`]),
  ].join(", ");
}

/** `routes.yaml:12:3`, `policies/a.rego:4:1 in base`; the empty string where unknown. */
export function formatLocation(location: SourceLocation | JsonValue | undefined): string {
  if (!isJsonObject(location)) return "";
  const { file, line, column } = location;
  if (typeof file !== "string" || typeof line !== "number" || typeof column !== "number") return "";
  return `${printable(file)}:${line}:${column}${"side" in location && location["side"] === "base" ? " in base" : ""}`;
}
