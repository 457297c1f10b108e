import { isWithoutEffect } from "../../../../simulate/report/cause-parts.ts";
import type {
  CauseReport,
  ChangedEntry,
  DataPath,
  DestinationReport,
  RoutePath,
  SimulationReport,
} from "../../../../simulate/report/report.ts";
import type { SettingEffect } from "../../../../simulate/settings/setting-effect.ts";
import { listText } from "../../../terminal/printing.ts";
import { latentOf } from "../wording/latent.ts";
import { byRetention, gainsOf, movedOf, processorText, routeText } from "./effect-text.ts";
import type { EffectTag } from "../wording/comparison.ts";
import { isSomeRefusal, type Effect } from "./effects.ts";
import { isRenameOnly, onceText, pricesText } from "./headline.ts";

/** The members of a report that questions are about. */
type QuestionReport = Pick<
  SimulationReport,
  "declared" | "promoted" | "promoted_policies" | "causes" | "changed_settings" | "future_rows"
>;

/**
 * The question that a reviewer has to answer about a cause; empty where there is none. It names what
 * it is about, because other causes of the change have questions too.
 */
export function questionOf(
  cause: CauseReport,
  effects: readonly Effect[],
  report: QuestionReport,
): string {
  const { entries, groups } = cause;
  const [entry] = entries;
  const [rename] = cause.renames;
  if (entry === undefined || isWithoutEffect(cause)) return "";
  const { kind, subject, path, location } = entry;
  if (kind === "assertion")
    return `do the owners of ${location?.file ?? "the assertions"} agree with the change of ${subject}?`;
  if (kind === "overlay") return `what does ${path} change? compare it with --environment`;
  if (rename !== undefined) return questionOfRename(rename, cause);
  const requests = (tag: EffectTag) =>
    requestsText(effects.filter((effect) => effect.tag === tag && !isSomeRefusal(effect)));
  const some = requestsText(effects.filter(isSomeRefusal));
  const refused = requests("BREAKS");
  const broken = refused || (some && `some ${some}`);
  const moves = effects.filter((effect) => effect.tag === "MOVES" || isMoved(effect, cause));
  const narrower = requests("NARROWS");
  const wider =
    questionOfGain(cause, effects, report) ||
    (moves.some(({ tag }) => tag === "WIDENS") ? questionOfMove(cause, moves) : "");
  const fewer = narrower && `are fewer endpoints enough for ${narrower}`;
  const once = groups.length === 0 ? onceText(cause, report) : "";
  // Of plain requests first.
  const first = wider || (refused === "" ? fewer : "");
  if (broken !== "") return `${first && `${first}, and `}shall ${broken} be refused${once}?`;
  if (first !== "") return `${first}${once}?`;
  if (moves.length > 0) return questionOfMove(cause, moves).replace(/(?<=.)$/, "?");
  const weaker = latentOf(cause, report).find(({ direction }) => direction === "weaker");
  if (weaker !== undefined)
    return `may a later change add such a row? ${weaker.policy} will not refuse it`;
  if (kind === "policy") return `who reviews what ${subject} would deny, and who promotes it when?`;
  return questionOfSetting(entry, report);
}

/** Whether an endpoint that the requests reached before is another destination now. */
function isMoved({ tag, group }: Effect, cause: CauseReport) {
  return tag === "WIDENS" && gainsOf(group).length === 0 && movedOf(group, cause) !== null;
}

function whoseText(effects: readonly Effect[]) {
  return listText([...new Set(effects.flatMap(({ workspaces }) => workspaces))], 3);
}

function routesOf(effects: readonly Effect[]) {
  return listText([...new Set(effects.flatMap(({ routes }) => routes))].map(routeText), 3);
}

/** "requests of clinic, hr for chat-eu"; empty without effects. */
function requestsText(effects: readonly Effect[]) {
  return effects.length === 0 ? "" : `requests of ${whoseText(effects)} for ${routesOf(effects)}`;
}

/** Requests that head allows and base does not; without a question mark, empty without any. */
function questionOfGain(
  cause: CauseReport,
  effects: readonly Effect[],
  report: QuestionReport,
): string {
  const found = newDestinations(cause, effects, report);
  if (found.length > 0) {
    const byWorkspaces = Map.groupBy(found, ({ workspaces }) => listText([...workspaces], 3));
    const parts = [...byWorkspaces].map(
      ([whose, those]) =>
        `data of ${whose} go ${those.map(({ gain }) => `to ${processorText(gain)}`).join("; ")}`,
    );
    return `may ${parts.join(", and ")}`;
  }
  const wider = effects.filter((effect) => effect.tag === "WIDENS" && !isMoved(effect, cause));
  const served = wider.filter(({ group }) => group.base.denial !== null);
  if (served.length > 0) return `shall ${requestsText(served)} be served that are refused today`;
  const gained = wider.filter(({ group }) => gainsOf(group).length > 0);
  if (gained.length > 0) {
    const gains = new Set(gained.flatMap(({ group }) => gainsOf(group)));
    return `may ${requestsText(gained)} go to ${listText([...gains], 3)}`;
  }
  return wider.length === 0
    ? ""
    : `may ${requestsText(wider)} lose this protection (${cause.entries[0]?.path})`;
}

interface NewDestination {
  readonly gain: DestinationReport;
  readonly workspaces: Set<string>;
  /** Whether a route of the requests reached the region before. */
  readonly isKnownRegion: boolean;
  /** Whether data of a workspace gets there for the first time, by whatever route. */
  isNewPath: boolean;
}

/**
 * Destinations that are new to a workspace, or else to a route. The worst comes first: another
 * region, then who keeps data longer, then who trains on it.
 */
function newDestinations(
  { gains }: CauseReport,
  effects: readonly Effect[],
  { declared, promoted }: QuestionReport,
): readonly NewDestination[] {
  const newDataPaths = [...declared.new_data_paths, ...promoted.new_data_paths];
  const newRoutePaths = [...declared.new_route_paths, ...promoted.new_route_paths];
  const found = new Map<string, NewDestination>();
  for (const { group, workspaces } of effects) {
    for (const gain of gains) {
      if (!group.head.plan.some(({ endpoint }) => endpoint === gain.endpoint)) continue;
      for (const workspace of workspaces) {
        const ends = (path: DataPath | RoutePath) =>
          path.workspace === workspace &&
          path.provider === gain.provider &&
          path.region === gain.region &&
          path.host === gain.host;
        const isNewPath = newDataPaths.some(ends);
        const isNewRoute = newRoutePaths.some(
          (path) => group.routes.includes(path.route) && ends(path),
        );
        if (!isNewPath && !isNewRoute) continue;
        const key = processorText(gain);
        const isKnownRegion = group.base.plan.some(({ region }) => region === gain.region);
        const one = found.get(key) ?? { gain, workspaces: new Set(), isKnownRegion, isNewPath };
        one.workspaces.add(workspace);
        one.isNewPath ||= isNewPath;
        found.set(key, one);
      }
    }
  }
  const all = [...found.values()];
  const isAnyPath = all.some(({ isNewPath }) => isNewPath);
  return all
    .filter(({ isNewPath }) => isNewPath || !isAnyPath)
    .toSorted(
      (left, right) =>
        Number(left.isKnownRegion) - Number(right.isKnownRegion) ||
        byRetention(left.gain, right.gain) ||
        Number(right.gain.trains_on_data) - Number(left.gain.trains_on_data),
    );
}

function questionOfRename(
  { kind, from, to, distinguished_by: policies = [] }: CauseReport["renames"][number],
  cause: CauseReport,
): string {
  if (policies.length > 0) return `shall policy ${policies.join(", ")} mean ${to} too?`;
  if (kind === "route")
    return `do all callers write ${to} already? a route ${from} can stay beside it until they do`;
  if (kind === "workspace") return `do new keys for ${to} replace the keys of ${from}?`;
  return isRenameOnly(cause) ? "" : `does any caller name ${from} in its preferences?`;
}

/** Without a question mark. */
function questionOfMove(cause: CauseReport, effects: readonly Effect[]): string {
  const { entries } = cause;
  const routes = routesOf(effects);
  const has = (member: string) => entries.some(({ path }) => path.endsWith(`.${member}`));
  const versions = entries.filter(({ path }) => path.endsWith(".upstream_model"));
  if (versions.length > 0)
    return `has ${listText(
      versions.map(({ after, subject }) => `${after} (${subject})`),
      3,
    )} been tried for ${routes}`;
  const [first] = effects;
  if (first === undefined) return "";
  const { base, head } = first.group;
  const moved = movedOf(first.group, cause);
  if (moved !== null) {
    const whose = whoseText(effects);
    if (has("plaintext") || entries.some(isUnencrypted))
      return `may calls to ${moved.provider} go unencrypted`;
    const before = base.plan.find(({ endpoint }) => endpoint === moved.endpoint);
    if (before?.host !== moved.host) return `may data of ${whose} go to ${moved.host}`;
    if (has("retention")) return `may ${moved.provider} keep data of ${whose} that long`;
    if (has("trains_on_data")) return `may ${moved.provider} train on data of ${whose}`;
    return `does ${moved.endpoint} still answer as ${routes} needs it`;
  }
  const at = head.plan.findIndex(({ endpoint }, index) => endpoint !== base.plan[index]?.endpoint);
  const [now, was] = [head.plan[at], base.plan[at]];
  if (now === undefined || was === undefined) return "";
  return `is ${now.endpoint} (${now.model}) the better choice before ${was.endpoint} for ${routes}`;
}

function isUnencrypted({ path, before, after }: ChangedEntry): boolean {
  const isPlain = (text: string | null) => text?.startsWith("http:") === true;
  return path.endsWith(".base_url") && isPlain(after) && !isPlain(before);
}

/** About settings that decide nothing about where requests go. */
const QUESTIONS: Readonly<Partial<Record<SettingEffect, (entry: ChangedEntry) => string>>> = {
  credential: ({ subject }) =>
    `is the account of ${subject} one with the region and the contract that its row states?`,
  price: ({ subject, after }) =>
    `does the provider of ${subject} charge ${pricesText(after)}? preferences by price and budgets use it`,
  limit: ({ path }) => `who pays for the additional use that ${path} allows?`,
  promotion: ({ path }) => `are the weaker requirements of ${path} enough for promotions?`,
  management: ({ path }) => `may keys of the workspaces in ${path} promote every policy?`,
  workloads: ({ path }) => `may workloads get the tokens of ${path}?`,
  access: ({ path }) => `may users have the access of ${path}?`,
};

/** A limit that is lowered, a stricter requirement: no gate, and no question. */
function questionOfSetting(entry: ChangedEntry, report: QuestionReport): string {
  const { path } = entry;
  const setting = report.changed_settings.find(
    (each) =>
      each.path === path || path.startsWith(`${each.path}.`) || each.path.startsWith(`${path}.`),
  );
  if (setting === undefined) return "";
  const { effect, gate } = setting;
  const isRequired = gate !== null || effect === "credential" || effect === "price";
  return isRequired ? (QUESTIONS[effect]?.(entry) ?? "") : "";
}
