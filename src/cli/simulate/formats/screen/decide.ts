import type { CauseReport, ChangedEntry } from "../../../../simulate/report/cause-report.ts";
import type { LatentChange } from "../../../../simulate/report/latent-report.ts";
import type { SettingChange } from "../../../../simulate/report/report.ts";
import type { SettingEffect } from "../../../../simulate/settings/setting-effect.ts";
import { listText } from "../../../terminal/printing.ts";
import { gainsOf, movedOf, processorText } from "./effect-text.ts";
import type { Effect, EffectTag } from "./effects.ts";

/** What the question is about besides the cause. */
interface QuestionSubject {
  readonly effects: readonly Effect[];
  readonly latent: readonly LatentChange[];
  readonly settings: readonly SettingChange[];
}

/** The question that a reviewer has to answer about a cause; empty where there is none. */
export function questionOf(
  cause: CauseReport,
  { effects, latent, settings }: QuestionSubject,
): string {
  const [first] = cause.entries;
  const [rename] = cause.renames;
  if (first === undefined) return "";
  if (first.kind === "assertion")
    return `do the owners of ${first.place?.file ?? "the assertions"} agree?`;
  if (first.kind === "overlay")
    return "what does the change do there? compare it with --environment";
  if (rename !== undefined) return questionOfRename(rename, cause);
  const whose = (tag: EffectTag): string =>
    whoseText(effects.filter((effect) => effect.tag === tag));
  const [broken, narrower] = [whose("BREAKS"), whose("NARROWS")];
  const wider = questionOfGain(cause, effects);
  const once = cause.groups.length === 0 ? " once it is promoted" : "";
  if (broken !== "" && wider !== "") {
    const separate = first.kind === "route" ? "; or a separate route for one of them" : "";
    return `${wider}, and shall ${broken} be refused${once}${separate}?`;
  }
  if (broken !== "") return `shall requests of ${broken} be refused${once}?`;
  if (wider !== "") return `${wider}${once}?`;
  if (narrower !== "") return `are fewer endpoints enough for ${narrower}?`;
  if (whose("MOVES") !== "") return questionOfMove(cause, effects);
  const weaker = latent.find(({ direction }) => direction === "weaker");
  if (weaker !== undefined)
    return `may a later change add such a row? ${weaker.policy} will not refuse it`;
  if (first.kind === "policy") return "who reviews what it would deny, and who promotes it when?";
  return questionOfSetting(first, settings);
}

function whoseText(effects: readonly Effect[]): string {
  return listText([...new Set(effects.flatMap(({ workspaces }) => workspaces))], 3);
}

/**
 * Of what head allows and base does not; without a question mark, and empty where there is nothing.
 */
function questionOfGain({ gains }: CauseReport, effects: readonly Effect[]): string {
  const wider = effects.filter(({ tag }) => tag === "WIDENS");
  const gainOf = ({ group, detail }: Effect) =>
    group.base.denial !== null && detail !== "a new data path"
      ? undefined
      : gains.find(({ endpoint }) => gainsOf(group).includes(endpoint));
  const first = wider.find((effect) => gainOf(effect) !== undefined);
  if (first !== undefined) {
    const gain = gainOf(first);
    const whose = whoseText(wider.filter((effect) => gainOf(effect) === gain));
    return gain === undefined ? "" : `may data of ${whose} go to ${processorText(gain)}`;
  }
  const served = wider.filter(({ group }) => group.base.denial !== null);
  if (served.length > 0)
    return `shall requests of ${whoseText(served)} be served that are refused today`;
  return wider.length === 0 ? "" : `may requests of ${whoseText(wider)} lose this protection`;
}

function questionOfRename(
  { kind, from, to, distinguished_by: policies = [] }: CauseReport["renames"][number],
  { groups, renamed_groups: same }: CauseReport,
): string {
  if (policies.length > 0) return `shall policy ${policies.join(", ")} mean ${to} too?`;
  if (kind === "route")
    return `do all callers write ${to} already? a route ${from} can stay beside it until they do`;
  if (kind === "workspace") return `do new keys for ${to} replace the keys of ${from}?`;
  return same.length === groups.length ? "" : `does any caller name ${from} in its preferences?`;
}

function questionOfMove(cause: CauseReport, effects: readonly Effect[]): string {
  const { entries } = cause;
  const has = (member: string): boolean => entries.some(({ path }) => path.endsWith(`.${member}`));
  if (has("upstream_model")) return "has the new version been tried with these routes?";
  const [first] = effects;
  if (first === undefined) return "";
  const whose = whoseText(effects.filter(({ tag }) => tag === "MOVES"));
  const { base, head } = first.group;
  const moved = movedOf(first.group, cause);
  if (moved !== null) {
    if (has("plaintext") || entries.some(isUnencrypted))
      return `may calls to ${moved.provider} go unencrypted?`;
    const before = base.plan.find(({ endpoint }) => endpoint === moved.endpoint);
    if (before?.host !== moved.host) return `may data of ${whose} go to ${moved.host}?`;
    if (before.region !== moved.region)
      return `may data of ${whose} go to ${moved.provider} in ${moved.region}?`;
    if (has("retention")) return `may ${moved.provider} keep data of ${whose} that long?`;
    if (has("trains_on_data")) return `may ${moved.provider} train on data of ${whose}?`;
    return `does ${moved.endpoint} still answer as these routes need it?`;
  }
  const at = head.plan.findIndex(({ endpoint }, index) => endpoint !== base.plan[index]?.endpoint);
  const [now, was] = [head.plan[at], base.plan[at]];
  if (now === undefined || was === undefined) return "";
  return `is ${now.endpoint} (${now.model}) the better choice before ${was.endpoint}?`;
}

function isUnencrypted({ path, before, after }: ChangedEntry): boolean {
  const isPlain = (text: string | null): boolean => text?.startsWith("http:") === true;
  return path.endsWith(".base_url") && isPlain(after) && !isPlain(before);
}

/** About settings that decide nothing about where requests go. */
const QUESTIONS: Readonly<Partial<Record<SettingEffect, string>>> = {
  credential: "is it an account with the region and the contract that the row states?",
  price: "is it what the provider charges? preferences by price and budgets use it",
  limit: "who pays for the additional use?",
  promotion: "are these weaker requirements enough for promotions?",
  management: "may keys of these workspaces promote every policy?",
  workloads: "may these workloads get such tokens?",
  access: "may these groups have this access?",
};

/** A limit that is lowered, a stricter requirement: no gate, and no question. */
function questionOfSetting({ path }: ChangedEntry, settings: readonly SettingChange[]): string {
  const setting = settings.find((each) => each.path === path || path.startsWith(`${each.path}.`));
  if (setting === undefined) return "";
  const isAsked =
    setting.gate !== null || setting.effect === "credential" || setting.effect === "price";
  return isAsked ? (QUESTIONS[setting.effect] ?? "") : "";
}
