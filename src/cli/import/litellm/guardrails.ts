import { quote } from "../../../compile/authored/literal-secrets.ts";
import type { ImportedConfiguration } from "../configuration/imported-configuration.ts";
import { asId } from "../configuration/names.ts";
import { tagPolicy } from "../configuration/policies.ts";
import type { Fields } from "../fields.ts";
import type { Deployment } from "./deployments.ts";

const NO_CONTENT_CHECKS = "Signalbox does not check the content of prompts and answers";

/**
 * The policy about routes whose guardrails were not carried over.
 *
 * @param routes name → id.
 */
export function addGuardrails(
  root: Fields,
  deployments: ReadonlyMap<string, readonly Deployment[]>,
  routes: ReadonlyMap<string, string>,
  imported: ImportedConfiguration,
): void {
  const guarded = new Set<string>();
  for (const [name, rows] of deployments) {
    for (const spot of rows.flatMap(({ guardrails }) => guardrails)) {
      guarded.add(routes.get(name) ?? name);
      const what = `${NO_CONTENT_CHECKS}; policy \`imported-guardrails\` records requests of route ${quote(name)}, and denies them once it is promoted`;
      imported.report.add("changed", spot, what);
    }
  }
  for (const guardrail of root.rows("guardrails")) {
    const inner = guardrail.fields("litellm_params");
    const isAlways = inner?.flag("default_on") === true || guardrail.flag("default_on") === true;
    if (isAlways) for (const id of routes.values()) guarded.add(id);
    const always = `${NO_CONTENT_CHECKS}; policy \`imported-guardrails\` records requests of all routes, and denies them once it is promoted`;
    imported.report.add(isAlways ? "changed" : "left_out", guardrail, isAlways ? always : NO_CONTENT_CHECKS);
  }
  imported.addGuardrailPolicy(guarded, root.spot("guardrails"));
}

/** The policy about tags of deployments. */
export function addTags(
  router: Fields | null,
  deployments: ReadonlyMap<string, readonly Deployment[]>,
  imported: ImportedConfiguration,
): void {
  const tagged = [...deployments.values()].flat().filter(({ tags }) => tags.length > 0);
  const isOn = router?.flag("enable_tag_filtering") === true;
  if (tagged.length === 0) return;
  const tags = new Map<string, readonly string[]>();
  const usual = new Set<string>();
  for (const rows of deployments.values()) {
    if (!rows.some((row) => row.tags.length > 0)) continue;
    const hasDefault = rows.some((row) => row.tags.includes("default"));
    for (const { endpoint, tags: own, spot } of rows) {
      const labels = own.filter((tag) => tag !== "default").map((tag) => asId(tag, "tag"));
      const where = spot.spot("tags");
      if (own.length > 0 && !isOn)
        imported.report.add(
          "left_out",
          where,
          "tags have no effect on routing without `enable_tag_filtering`; labels of keys separate spend",
        );
      if (!isOn) continue;
      if (labels.length > 0) {
        tags.set(endpoint.id, labels);
        for (const label of labels) imported.labels.add(label);
      }
      if (hasDefault ? own.includes("default") : own.length >= 0) usual.add(endpoint.id);
      if (own.length > 0)
        imported.report.add(
          "changed",
          where,
          "policy `tag-routing`: labels of the key or its workspace choose, not tags of the request",
        );
    }
  }
  if (!isOn || router === null) return;
  imported.report.add(
    "changed",
    router.spot("enable_tag_filtering"),
    "policy `tag-routing`; give keys the labels, `signalbox keys create --labels …`",
  );
  if (router.flag("tag_filtering_match_any") === false)
    imported.report.add(
      "decide",
      router.spot("tag_filtering_match_any"),
      "`tag-routing` requires one label in common; LiteLLM requires all tags",
    );
  if (tags.size > 0) imported.policies.push(tagPolicy({ tags, usual }));
}
