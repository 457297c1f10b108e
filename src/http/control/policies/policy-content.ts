import { formatRevision } from "../../../canon/policy.ts";
import { type PolicyStatus, type KnownContent, contentOf } from "../../../lifecycle/policy-states.ts";
import { ofPolicy, orUnavailable } from "./policy-call.ts";
import { noSuchContent } from "./policy-error.ts";
import { readDigest } from "./policy-query.ts";
import { describeRules } from "./policy-view.ts";

/** GET /v1/policies/{id}/content: rules and contract of one content, from the store. */
export const policyContent = ofPolicy(async ({ url }, { administration, status }) => {
  const requested = readDigest(url.searchParams);
  if (requested !== null && typeof requested !== "string") return requested;
  const content = contentNamed(status, requested);
  if (content === null) return noSuchContent();
  const kept = content.content === "rules" ? await orUnavailable(administration.content(content.digest)) : null;
  if (kept !== null && "code" in kept) return kept;
  // Numbered by an older version, which did not keep what it numbered.
  if (kept === null && content.content === "rules") return noSuchContent();
  return {
    json: {
      object: "policy.content",
      policy: status.id,
      revision: formatRevision(content.revision),
      digest: content.digest,
      content: content.content,
      module_sha256: kept?.moduleSha256 ?? null,
      contract:
        kept === null
          ? null
          : { title: kept.contract.title, owners: kept.contract.owners, ...describeRules(kept.contract) },
      sources: (kept?.sources ?? []).map((module) => ({ package: module.package, source: module.source })),
    },
  };
});

/** `null` where nothing fits, or more than one content does. */
export function contentNamed(status: PolicyStatus, requested: string | null): KnownContent | null {
  const { enforced, candidate } = status;
  const slots = { enforced, candidate, "": candidate ?? enforced };
  const slot = requested ?? "";
  if (slot === "" || slot === "enforced" || slot === "candidate") {
    const state = slots[slot];
    return state === null ? null : contentOf(status, state.digest);
  }
  const fitting = [...status.contents.values()].filter(({ digest }) => digest.startsWith(slot));
  return fitting.length === 1 ? (fitting[0] ?? null) : null;
}
