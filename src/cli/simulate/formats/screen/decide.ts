import type { CauseReport } from "../../../../simulate/report/cause-report.ts";
import type { LatentChange } from "../../../../simulate/report/latent-report.ts";
import { listText } from "../../../terminal/amounts.ts";
import type { Effect, EffectTag } from "./effects.ts";
import { processorText } from "./words.ts";

/** The question that a reviewer has to answer about a cause; empty where there is none. */
export function questionOf(
  cause: CauseReport,
  effects: readonly Effect[],
  latent: readonly LatentChange[] = [],
): string {
  const [first] = cause.entries;
  const [rename] = cause.renames;
  if (first === undefined) return "";
  if (first.kind === "assertion") return `do the owners of ${first.place?.file ?? "the assertions"} agree?`;
  if (rename !== undefined) return questionOfRename(rename, cause);
  const whose = (tag: EffectTag): readonly string[] => [
    ...new Set(effects.flatMap((effect) => (effect.tag === tag ? effect.workspaces : []))),
  ];
  const [broken, wider, moved, narrower] = [whose("BREAKS"), whose("WIDENS"), whose("MOVES"), whose("NARROWS")];
  const [gain] = cause.gains;
  const reach = gain === undefined ? "these endpoints" : processorText(gain);
  if (broken.length > 0 && wider.length > 0) {
    const separate = first.kind === "route" ? "; or a separate route for one of them" : "";
    return `may ${listText(wider, 3)} reach ${reach}, and shall ${listText(broken, 3)} be refused${separate}?`;
  }
  const once = cause.groups.length === 0 ? " once it is promoted" : "";
  if (broken.length > 0) return `shall requests of ${listText(broken, 3)} be refused${once}?`;
  if (wider.length > 0) return `may data of ${listText(wider, 3)} go to ${reach}?`;
  if (narrower.length > 0) return `can ${listText(narrower, 3)} do with fewer endpoints?`;
  if (moved.length > 0) return questionOfMove(cause, effects);
  const weaker = latent.find(({ direction }) => direction === "weaker");
  if (weaker !== undefined) return `may a later change add such a row? ${weaker.policy} will not refuse it`;
  if (first.path.endsWith(".price")) return "is it what the provider charges? preferences by price and budgets use it";
  if (first.kind === "policy") return "who reviews what it would deny, and who promotes it when?";
  return "";
}

function questionOfRename(
  { kind, from, to }: CauseReport["renames"][number],
  { groups, renamed_groups: same }: CauseReport,
): string {
  if (kind === "route") return `do all callers write ${to} already? a route ${from} can stay beside it until they do`;
  if (kind === "workspace") return `have the keys of ${from} been made anew for ${to}?`;
  return same.length === groups.length ? "" : `is more meant than another name?`;
}

function questionOfMove({ entries }: CauseReport, effects: readonly Effect[]): string {
  if (entries.some(({ path }) => path.endsWith(".upstream_model")))
    return "has the new version been tried with these routes?";
  const first = effects[0]?.group.head.plan[0];
  return first === undefined ? "" : `is ${first.endpoint} (${first.model}) the better first choice?`;
}
