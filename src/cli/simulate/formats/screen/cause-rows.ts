import type { CauseReport, DestinationReport } from "../../../../simulate/report/cause-report.ts";
import type { LatentChange } from "../../../../simulate/report/latent-report.ts";
import { SETTING_EFFECTS } from "../../../../simulate/settings/setting-effect.ts";
import type { ChangeGroup } from "../../../../simulate/report/report.ts";
import { amountText, listText, numberText } from "../../../terminal/printing.ts";
import type { ReportModel } from "../model.ts";
import type { Tone } from "../../../document/document.ts";
import { latentCut, latentOf, latentText } from "../wording/latent.ts";
import { groupsOfCause } from "./effects.ts";
import { priceText } from "./effect-text.ts";

/** A line about a cause that is about no workspace. */
export interface PlainRow {
  readonly tag: "LATENT" | "SAME" | "NOTE" | "COST";
  readonly tone: Tone;
  readonly text: string;
}

/**
 * What stands below the effects of a cause. @param single whether the report has no other cause.
 */
export function rowsOfCause(
  cause: CauseReport,
  report: ReportModel,
  single: boolean,
): readonly PlainRow[] {
  const latent = latentOf(cause, report);
  return [
    ...latentRows(latent.filter(({ direction }) => direction === "weaker")),
    ...(single ? sameRows(cause, report) : []),
    ...notesOf(cause).map(note),
    ...settingNotes(cause, report).map(note),
    ...latent.flatMap((change) =>
      change.direction === "stricter" ? [note(`latent: ${laterText(change)}`)] : [],
    ),
    ...costRows(cause),
  ];
}

export function cutRows({ latent }: ReportModel): readonly PlainRow[] {
  const text = latentCut(latent);
  return text === null ? [] : [note(text)];
}

function note(text: string): PlainRow {
  return { tag: "NOTE", tone: "quiet", text };
}

/** Of the changes that no request of today shows, those that allow more. */
function latentRows(weaker: readonly LatentChange[]): readonly PlainRow[] {
  return weaker.map((change) => ({ tag: "LATENT", tone: "widen", text: laterText(change) }));
}

function laterText(change: LatentChange): string {
  return `${change.policy} ${latentText(change)}; no request of today uses it${change.view === "promoted" ? "; once promoted" : ""}`;
}

/** What a setting does that no request shows. */
function settingNotes(
  { groups, promoted_groups: later, entries, renames }: CauseReport,
  { changed_settings: settings }: ReportModel,
): readonly string[] {
  if (groups.length + later.length + renames.length > 0) return [];
  const effects = settings.flatMap(({ path, effect }) =>
    entries.some(
      (entry) =>
        (entry.path === path || path.startsWith(`${entry.path}.`)) &&
        entry.kind !== "policy" &&
        entry.kind !== "assertion",
    )
      ? [SETTING_EFFECTS[effect]]
      : [],
  );
  const sentences = effects.flatMap((effect) =>
    effect === SETTING_EFFECTS.decides ? [] : [effect.sentence],
  );
  return [...new Set(sentences)].map((sentence) => `it is about ${sentence}`);
}

function sameRows(
  {
    unaffected,
    routes,
    without_routes: without,
    gains,
    groups,
    promoted_groups: later,
  }: CauseReport,
  report: ReportModel,
): readonly PlainRow[] {
  const same = (text: string): PlainRow => ({ tag: "SAME", tone: "good", text });
  if (groups.length + later.length === 0) return [same(`every request${whichText(report)}`)];
  const isOfRoute = report.causes[0]?.entries[0]?.kind === "route";
  const renamed = renamedText(report.causes[0], report);
  if (renamed !== null) return [same(renamed)];
  // Of the others requests with preferences or other conditions change: they are not the same.
  const [cause] = report.causes;
  const changing = new Set(
    (cause === undefined ? [] : groupsOfCause(cause, report))
      .filter(({ group }) => group.words.some((kind) => kind !== "reason_changed"))
      .flatMap(({ group }) => group.workspaces),
  );
  const byReason = Map.groupBy(unaffected, ({ workspace, why }) =>
    [
      why ?? (gains.length > 0 && isOfRoute ? "approved, and not reached" : ""),
      changing.has(workspace) ? "plain requests" : "",
    ]
      .filter((part) => part !== "")
      .join("; "),
  );
  const parts = [...byReason].map(([why, rows]) => {
    const names = listText(
      rows.map(({ workspace }) => workspace),
      4,
    );
    return why === "" ? names : `${names} (${why})`;
  });
  const names = routes.map(({ id }) => id).join(", ");
  const rest = without === 0 ? [] : [`${amountText(without, "workspace")} without ${names}`];
  return parts.length + rest.length === 0 ? [] : [same([...parts, ...rest].join("; "))];
}

/** Where policies changed, whether other rows than those of today would show it. */
function whichText({ latent }: ReportModel): string {
  if (latent === undefined || latent.tried === 0) return " is decided as before";
  if (latent.changes.length > 0) return " of today is decided as before";
  return latent.complete
    ? " is decided as before, also with rows that no file has yet"
    : " is decided as before";
}

/** Of renames alone, where nothing but the former names is refused. */
function renamedText(cause: CauseReport | undefined, report: ReportModel): string | null {
  if (cause === undefined || cause.renames.length === 0) return null;
  const isRefusal = ({ group }: { readonly group: ChangeGroup }): boolean =>
    group.words.every((kind) => kind === "newly_denied" || kind === "reason_changed");
  if (cause.renames.some(({ distinguished_by: policies }) => policies !== undefined)) return null;
  if (!groupsOfCause(cause, report).every(isRefusal)) return null;
  const [first] = cause.renames;
  const named =
    cause.renames.length === 1 && first !== undefined
      ? `${first.to} has the content that ${first.from} had`
      : "the rows have the content that they had";
  return `${named}; every other request is decided as before`;
}

/** What an endpoint costs that a route gains, or that comes first now. */
function costRows(cause: CauseReport): readonly PlainRow[] {
  const { gains, routes, entries, renames } = cause;
  const row = (text: string): PlainRow => ({
    tag: "COST",
    tone: "quiet",
    text: `${text} USD per million tokens in/out`,
  });
  const moved = gains.length === 0 ? movedPrimary(cause) : null;
  if (moved !== null && moved.now.price !== null && moved.was.price !== null) {
    const [now, was] = [moved.now, moved.was].map(
      ({ endpoint, price }) => `${endpoint} ${price === null ? "" : priceText(price)}`,
    );
    return [row(`${now} against ${was}`)];
  }
  const isNamed = new Set(entries.map(({ subject }) => subject));
  const priced = gains.filter(({ price }) => price !== null).slice(0, 2);
  const primary = routes.find(({ id }) => isNamed.has(id))?.primary ?? routes[0]?.primary ?? null;
  const [first] = priced;
  if (
    first === undefined ||
    primary === null ||
    primary.price === null ||
    primary.endpoint === first.endpoint
  )
    return [];
  if (renames.length > 0 || entries.every(({ kind }) => kind !== "route" && kind !== "endpoint"))
    return [];
  const own = priced
    .map(({ endpoint, price }) => (price === null ? "" : `${endpoint} ${priceText(price)}`))
    .join(", ");
  return [row(`${own} against ${primary.endpoint} ${priceText(primary.price)}`)];
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
  if (
    now === undefined ||
    was === undefined ||
    after === undefined ||
    before === undefined ||
    after === before
  )
    return [];
  return [`${now.model} takes ${numberText(after)} tokens, ${was.model} ${numberText(before)}`];
}

/** What a reviewer should know besides what requests meet, as sentences without a full stop. */
function notesOf(cause: CauseReport): readonly string[] {
  return [
    ...titleNotes(cause),
    ...hostNotes(cause),
    ...trainingNotes(cause),
    ...modelNotes(cause),
    ...assertionNotes(cause),
  ];
}

/** A title may promise what the change breaks, and no program can judge that. */
function titleNotes({ gains, routes, entries, renames }: CauseReport): readonly string[] {
  if (renames.length > 0) return [];
  const changed = new Set(
    entries.flatMap(({ kind, subject, change }) =>
      kind === "route" && change === "changed" ? [subject] : [],
    ),
  );
  if (gains.length === 0) return [];
  return routes.flatMap(({ id, title }) =>
    changed.has(id) && title !== id ? [`the title of ${id} says "${title}"`] : [],
  );
}

/** Who is reached is a host, whatever its row is called. */
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

function trainingNotes({ gains }: CauseReport): readonly string[] {
  const training = gains
    .filter(({ trains_on_data: trains }) => trains)
    .map(({ provider }) => provider);
  return training.length === 0 ? [] : [`${listText([...new Set(training)])} trains on data`];
}

function assertionNotes({ entries }: CauseReport): readonly string[] {
  const removed = entries.filter(({ kind, change }) => kind === "assertion" && change !== "added");
  return removed.length === 0
    ? []
    : ["later changes are checked by the new assertions, and this change is too"];
}
