import { REVISION_PATTERN } from "../../canon/policy.ts";
import { COUNT, INSTANT, NULLABLE_TEXT, TEXT, whole, wholeOrNull } from "../../canon/json/schema.ts";
import { DIMENSIONS } from "../../governance/dimensions.ts";
import { MEASURES, SHADOW_VERDICTS } from "../../governance/measures.ts";

const nullableRevision = { type: ["string", "null"], pattern: REVISION_PATTERN } as const;

/** What the policy log has in a slot. */
function slot(description: string) {
  const since = { ...INSTANT, type: ["string", "null"], description: "When it entered the slot." } as const;
  return wholeOrNull(
    { revision: nullableRevision, digest: TEXT, content: { enum: ["rules", "removal"] }, since },
    description,
  );
}

export const GOVERNANCE_SUMMARY = {
  title: "GovernanceSummary",
  ...whole(
    {
      object: { const: "governance.summary" },
      version: { const: 1 },
      workspace: { ...NULLABLE_TEXT, description: "`null` where several are counted." },
      workspaces: { type: "array", items: TEXT, description: "Whose requests are counted." },
      window: whole({
        start: INSTANT,
        end: INSTANT,
        complete_until: { ...INSTANT, description: "Numbers of the hours before it do not change any more." },
      }),
      group_by: { type: "array", items: { enum: DIMENSIONS } },
      relative_error: { type: "number", description: "How far percentiles may be from the exact ones." },
      totals: MEASURES,
      groups: {
        type: "array",
        items: whole({
          group: { type: "object", additionalProperties: NULLABLE_TEXT, description: "Days and hours are in UTC." },
          ...MEASURES.properties,
        }),
      },
      truncated: { type: "boolean", description: "There are more groups; these have the most requests." },
      verdicts: {
        type: "array",
        items: whole({
          policy: NULLABLE_TEXT,
          constraint: NULLABLE_TEXT,
          reason_code: NULLABLE_TEXT,
          denied: COUNT,
          refused: COUNT,
        }),
      },
      shadows: {
        type: "array",
        items: whole({
          policy: TEXT,
          revision: TEXT,
          judged: COUNT,
          ...SHADOW_VERDICTS,
          verdicts: {
            type: "array",
            items: whole({ constraint: NULLABLE_TEXT, reason_code: NULLABLE_TEXT, ...SHADOW_VERDICTS }),
          },
        }),
      },
      policies: {
        type: "array",
        items: whole({
          id: TEXT,
          slots: {
            type: "array",
            items: whole({ slot: { enum: ["enforced", "candidate"] }, revision: nullableRevision, digest: TEXT }),
          },
          stored: wholeOrNull(
            { enforced: slot("Enforced content; `null`: none."), candidate: slot("Content in shadow; `null`: none.") },
            "Status of the policy in the policy log; `null`: none.",
          ),
          drift: {
            enum: ["digest", "slot", "not_loaded", "not_stored", null],
            description:
              "How the policies in this process differ from the policy log; within a second of a change they are equal.",
          },
        }),
      },
      table_revision: NULLABLE_TEXT,
      evidence: whole({ head: wholeOrNull({ hash: TEXT }, "The newest row of the evidence log, of all workspaces.") }),
    },
    "Operational evidence of the key's workspace, or of all that the caller may read, without content. Not a bill.",
  ),
} as const;
