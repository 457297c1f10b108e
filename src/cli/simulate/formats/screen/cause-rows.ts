import type {
  CauseReport,
  ChangeGroup,
  ChangedEntry,
  DestinationReport,
} from "../../../../simulate/report/report.ts";
import { groupsOfCause, settingsOf } from "../../../../simulate/report/cause-parts.ts";
import { addedUsage, NOTHING_USED } from "../../../../simulate/evidence/seen-usage.ts";
import { SETTING_EFFECTS } from "../../../../simulate/settings/setting-effect.ts";
import {
  amountText,
  costText,
  joinTexts,
  listText,
  numberText,
} from "../../../terminal/printing.ts";
import type { ReportModel } from "../model.ts";
import { latentLimits, latentOf, latentText } from "../wording/latent.ts";
import { seenOf } from "./effects.ts";
import { concernsRoute, priceText, routeText } from "./effect-text.ts";
import { entryText, waitsForPromotion, locationText, replacedText } from "./headline.ts";

/** A row that is about no workspace. */
type PlainRow = readonly [tag: "LATENT" | "SAME" | "NOTE" | "SPEND" | "COST", text: string];

function rowsOf(tag: PlainRow[0], texts: readonly string[]): readonly PlainRow[] {
  return texts.map((text) => [tag, text]);
}

/**
 * Rows below the effects of a cause. @param single whether the report has no other cause.
 */
export function rowsOfCause(
  cause: CauseReport,
  report: ReportModel,
  single: boolean,
): readonly PlainRow[] {
  return [
    ...latentOf(cause, report).map((change): PlainRow => {
      const once =
        change.view === "promoted" && !waitsForPromotion(cause, report) ? "; once promoted" : "";
      const text = `${change.policy} ${latentText(change)}; no request of today uses it${once}`;
      return change.direction === "weaker" ? ["LATENT", text] : ["NOTE", `latent: ${text}`];
    }),
    ...rowsOf("SAME", single ? sameTexts(cause, report) : []),
    ...rowsOf("NOTE", [
      ...(single ? entryNotes(cause) : []),
      ...titleNotes(cause),
      ...hostNotes(cause),
      ...modelNotes(cause),
      ...assertionNotes(cause),
      ...settingNotes(cause, report),
    ]),
    ...rowsOf("COST", costTexts(cause)),
  ];
}

/** Rows about the whole change. */
export function rowsOfChange(report: ReportModel): readonly PlainRow[] {
  const { causes, changing, head, future_rows: latent } = report;
  const changed = changingWorkspaces(causes, report);
  const others = head.workspaces.filter((workspace) => !changed.has(workspace));
  return [
    ...rowsOf("NOTE", latentLimits(latent)),
    ...rowsOf("SAME", changing.length > 1 && others.length > 0 ? [listText(others, 4)] : []),
    ...rowsOf("SPEND", spentTexts(report)),
  ];
}

/** Cost of recorded answers before and after, summed over the routes where it differs. */
export function spentTexts({ evidence, ...report }: ReportModel): readonly string[] {
  const [declared, promoted] = [evidence?.declared.costs ?? [], evidence?.promoted.costs ?? []];
  const costs = declared.length > 0 ? declared : promoted;
  if (evidence === null || costs.length === 0) return [];
  const [from, to] = [evidence.from, evidence.to].map((time) => time?.slice(0, 10));
  const routes = [
    ...new Set(costs.map(({ route }) => (route === null ? "others" : routeText(route)))),
  ];
  const answers = costs.reduce((sum, { calls }) => sum + calls, 0);
  const recordedCost = costText(costs.reduce(addedUsage, NOTHING_USED));
  const once = declared.length > 0 ? "" : "; once promoted";
  const { groups } = report[declared.length > 0 ? "declared" : "promoted"];
  const { calls } = seenOf(groups.filter(({ kinds }) => kinds.includes("newly_denied")));
  const refusedText =
    calls === 0 ? "" : `; ${amountText(calls, "call")} refused, which is no saving`;
  return [
    `${listText(routes, 3)}: ${recordedCost}, ${amountText(answers, "recorded answer")} from ${from} to ${to}${refusedText}${once}`,
  ];
}

/** Effects of settings that change no decision. */
function settingNotes(
  { groups, promoted_groups: later, entries, renames }: CauseReport,
  { changed_settings: settings }: ReportModel,
): readonly string[] {
  if (groups.length + later.length + renames.length > 0) return [];
  const effects = entries
    .filter(({ kind }) => kind !== "policy" && kind !== "assertion")
    .flatMap((entry) => settingsOf(entry, settings).map(({ effect }) => SETTING_EFFECTS[effect]));
  const sentences = effects.flatMap((effect) =>
    effect === SETTING_EFFECTS.decides ? [] : [effect.sentence],
  );
  return [...new Set(sentences)].map((sentence) => `it is about ${sentence}`);
}

/** Workspaces that may use the routes of the only cause and see no change, one reason a row. */
function sameTexts(cause: CauseReport, report: ReportModel): readonly string[] {
  const { unaffected, routes, without_routes: without, gains } = cause;
  if (report.unchanged !== null)
    return report.complete ? [`every request${whichText(report)}`] : [];
  const renamed = renamedText(cause, report);
  if (renamed !== null) return [renamed];
  // Of the others requests with preferences or other conditions change: they are not the same.
  const changing = changingWorkspaces([cause], report);
  const byReason = Map.groupBy(unaffected, ({ workspace, why }) =>
    joinTexts(
      [
        why ?? (gains.length > 0 && concernsRoute(cause) ? "approved, and not reached" : ""),
        changing.has(workspace) ? "plain requests" : "",
      ],
      "; ",
    ),
  );
  const parts = [...byReason].map(([why, rows]) => {
    const workspaces = rows.map(({ workspace }) => workspace);
    return `${listText(workspaces, 4)}${why && ` (${why})`}`;
  });
  const names = routes.map(({ id }) => id).join(", ");
  const countedIds = new Set([...changing, ...unaffected.map(({ workspace }) => workspace)]);
  // Of those without the routes, callers who name a region that is gone are refused.
  const others = report.head.workspaces.filter((workspace) => !countedIds.has(workspace)).length;
  const remaining = Math.min(without, others);
  const rest = remaining === 0 ? [] : [`${amountText(remaining, "workspace")} without ${names}`];
  return [...parts, ...rest];
}

function changingWorkspaces(
  causes: readonly CauseReport[],
  report: ReportModel,
): ReadonlySet<string> {
  return new Set(
    causes
      .flatMap((cause) => groupsOfCause(cause, report))
      .filter(({ group }) => group.kinds.some((kind) => kind !== "reason_changed"))
      .flatMap(({ group }) => group.workspaces),
  );
}

/** "workspaces.hr.approve.regions: the same entries in another order". */
export function sameText({ path, kind, subject, only }: ChangedEntry): string {
  if (only === "order") return `${path}: the same entries in another order`;
  return kind === "policy"
    ? `policy ${subject}: only title, comments, spacing or the order of rules differ`
    : `${path}: only text or the files of settings`;
}

/** Of groups whose callers are decided by a price that they state or sort by. */
export function pricedText(groups: readonly ChangeGroup[], { evidence }: ReportModel): string {
  const workspaces = new Set(groups.flatMap((group) => group.workspaces));
  const refusesSome = groups.some(({ kinds }) => kinds.includes("newly_denied"));
  const how = refusesSome ? "refused or decided" : "decided";
  const evidenceText =
    evidence === null
      ? ""
      : ` (${numberText(seenOf(groups).calls)} of ${amountText(evidence.decisions, "recorded call")})`;
  return `callers of ${listText([...workspaces].toSorted(), 3)} who state max_price or sort by price are ${how} differently${evidenceText}`;
}

/** Where policies changed, whether other rows than those of today would show it. */
function whichText({ future_rows: latent }: ReportModel): string {
  if (latent === undefined || latent.tried === 0) return " is decided as before";
  if (latent.changes.length > 0) return " of today is decided as before";
  return latentLimits(latent).length === 0
    ? " is decided as before, also with rows that no file has yet"
    : " is decided as before";
}

/** Of renames alone, where nothing but the former names is refused. */
function renamedText(cause: CauseReport, report: ReportModel): string | null {
  if (cause.renames.length === 0 || !report.complete) return null;
  const isDenialGroup = ({ group }: { readonly group: ChangeGroup }) =>
    group.kinds.every((kind) => kind === "newly_denied" || kind === "reason_changed");
  if (cause.renames.some(({ distinguished_by: policies }) => policies !== undefined)) return null;
  if (!groupsOfCause(cause, report).every(isDenialGroup)) return null;
  const [first] = cause.renames;
  const contentText =
    cause.renames.length === 1 && first !== undefined
      ? `${first.to} has the content that ${first.from} had`
      : "the rows have the content that they had";
  return `${contentText}; every other request is decided as before`;
}

/** The cost of endpoints that a route gains, or of its new primary, against its former primary. */
function costTexts(cause: CauseReport): readonly string[] {
  const { gains, routes, entries, renames } = cause;
  const movedCandidate = gains.length === 0 ? movedPrimary(cause) : null;
  const subjects = new Set(entries.map(({ subject }) => subject));
  const concernsRow = entries.some(({ kind }) => kind === "route" || kind === "endpoint");
  const route =
    concernsRow && renames.length === 0 ? routes.find(({ id }) => subjects.has(id)) : null;
  const primary = movedCandidate?.was ?? (route === undefined ? routes[0] : route)?.primary ?? null;
  const now =
    movedCandidate === null ? gains.filter(({ price }) => price !== null) : [movedCandidate.now];
  if (primary === null || now[0]?.endpoint === primary.endpoint) return [];
  const texts = [...now.slice(0, 2), primary].flatMap(({ endpoint, price }) =>
    price === null ? [] : [`${endpoint} ${priceText(price)}`],
  );
  const before = primary.price === null ? undefined : texts.pop();
  return before === undefined || texts.length === 0
    ? []
    : [`${texts.join(", ")} against ${before} USD per million tokens in/out`];
}

/** Of a route whose endpoints come in another order. */
function movedPrimary({
  entries,
  routes,
}: CauseReport): Record<"now" | "was", DestinationReport> | null {
  const changed = routes.find(({ id }) =>
    entries.some(({ kind, subject }) => kind === "route" && subject === id),
  );
  const { primary: now = null, former_primary: was } = changed ?? {};
  return now === null || was === undefined ? null : { now, was };
}

/** Requests that fit one model may be too long for the other. */
function modelNotes(cause: CauseReport): readonly string[] {
  const { now, was } = movedPrimary(cause) ?? {};
  const [after, before] = [now?.context_window, was?.context_window];
  return after == null || before == null || after === before
    ? []
    : [`${now?.model} takes ${numberText(after)} tokens, ${was?.model} ${numberText(before)}`];
}

/** Entries that only together with the first one change a request; the headline has the first. */
function entryNotes({ entries, renames }: CauseReport): readonly string[] {
  const [first, ...others] = entries;
  if (renames.length > 0 || replacedText(entries) !== null) return [];
  // The primary and the fallbacks of one route are described together.
  const texts = others.flatMap((entry) =>
    entry.kind === "policy_setting" || (entry.kind === "route" && entry.subject === first?.subject)
      ? []
      : [`${entryText(entry)} (${locationText(entry.location)})`],
  );
  return texts.length === 0 ? [] : [`together with ${listText(texts, 4)}`];
}

/** Base's assertions may have failed this change. */
function assertionNotes({ entries }: CauseReport): readonly string[] {
  return entries.some(({ kind, change }) => kind === "assertion" && change !== "added")
    ? ["this change is checked by the assertions of head, not by those of base"]
    : [];
}

/** A title may promise what the change breaks, and no program can judge that. */
function titleNotes({ gains, routes, entries, renames }: CauseReport): readonly string[] {
  if (renames.length > 0) return [];
  const changed = new Set(
    entries.flatMap(({ kind, subject, path }) =>
      kind === "route" && path !== `routes.${subject}` ? [subject] : [],
    ),
  );
  const ofRoutes = gains.length === 0 ? [] : routes.filter(({ id }) => changed.has(id));
  const ofPolicies = entries.map(({ subject: id, title = id }) => ({ id, title }));
  return [...ofRoutes, ...ofPolicies].flatMap(({ id, title }) =>
    title === id ? [] : [`the title of ${id} says "${title}"`],
  );
}

/** The host that receives the data, whatever its provider is called. */
function hostNotes({ gains, entries }: CauseReport): readonly string[] {
  const added = new Set(
    entries.flatMap(({ kind, subject, change }) =>
      kind === "provider" && change === "added" ? [subject] : [],
    ),
  );
  const hosts = new Map(
    gains.flatMap(({ provider, host }) => (added.has(provider) ? [[provider, host] as const] : [])),
  );
  return [...hosts].map(([provider, host]) => `${provider} is ${host}`);
}
