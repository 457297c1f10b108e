import { REVISION_PATTERN } from "../../canon/policy.ts";
import { FAILURE_KINDS } from "../../canon/failure.ts";
import { TERMINALS } from "../../evidence/record.ts";
import { DIMENSIONS } from "../../governance/dimensions.ts";

const text = { type: "string" } as const;
const nullableText = { type: ["string", "null"] } as const;
const instant = { type: "string", format: "date-time" } as const;
const nullableRevision = { type: ["string", "null"], pattern: REVISION_PATTERN } as const;
const count = { type: "integer", minimum: 0 } as const;

/** An object of which all members are there, and no others. */
function whole<Members extends Readonly<Record<string, object>>>(properties: Members, description?: string) {
  return {
    type: "object",
    ...(description === undefined ? {} : { description }),
    required: Object.keys(properties),
    additionalProperties: false,
    properties,
  } as const;
}

/** The same, or `null`. */
function wholeOrNull<Members extends Readonly<Record<string, object>>>(properties: Members, description: string) {
  return { ...whole(properties, description), type: ["object", "null"] } as const;
}

function counts(names: readonly string[]) {
  return Object.fromEntries(names.map((name) => [name, count]));
}

/** What the log of policies has in a slot. */
function slot(description: string) {
  const since = { ...instant, type: ["string", "null"], description: "When it entered the slot." } as const;
  return wholeOrNull(
    { revision: nullableRevision, digest: text, content: { enum: ["rules", "removal"] }, since },
    description,
  );
}

const milliseconds = { type: ["number", "null"], minimum: 0 } as const;
const percentiles = whole({ count, p50: milliseconds, p90: milliseconds, p95: milliseconds, p99: milliseconds });
const said = { would_deny: count, newly_denied: count, would_narrow: count, indeterminate: count } as const;

const MEASURES = {
  requests: count,
  running: { type: ["integer", "null"], minimum: 0, description: "Decided, not ended." },
  allowed: count,
  answered: { ...count, description: "By the router itself." },
  denied: { ...count, description: "By a policy or an approval." },
  refused: { ...count, description: "Before there was a decision." },
  shadow: wholeOrNull(
    { judged: count, ...said },
    "What revisions in shadow would have done, as parts of `judged`; `newly_denied` was let through. `null`: not kept for this grouping.",
  ),
  ended: wholeOrNull(
    {
      terminals: whole(counts(TERMINALS)),
      fallbacks: { ...count, description: "Requests for which more than one endpoint was tried." },
      attempts: whole({
        total: count,
        failed: { type: "object", additionalProperties: false, properties: counts(FAILURE_KINDS) },
      }),
      tokens: whole({
        input: count,
        output: count,
        cache_read: count,
        reasoning: count,
        counted_requests: { ...count, description: "Requests that the sums are of." },
      }),
      latency_ms: whole(
        { total: percentiles, first_byte: percentiles, router: percentiles },
        "Of requests that were let through; each number within `relative_error`.",
      ),
    },
    "Of the requests that have ended. `null`: not kept for this grouping.",
  ),
} as const;

export const GOVERNANCE_SUMMARY = {
  title: "GovernanceSummary",
  ...whole(
    {
      object: { const: "governance.summary" },
      version: { const: 1 },
      workspace: nullableText,
      window: whole({
        start: instant,
        end: instant,
        complete_until: { ...instant, description: "Numbers of the hours before it do not change any more." },
      }),
      group_by: { type: "array", items: { enum: DIMENSIONS } },
      relative_error: { type: "number", description: "How far percentiles may be from the exact ones." },
      totals: whole(MEASURES),
      groups: {
        type: "array",
        items: whole({
          group: { type: "object", additionalProperties: nullableText, description: "Days and hours are in UTC." },
          ...MEASURES,
        }),
      },
      truncated: { type: "boolean", description: "There are more groups; these have the most requests." },
      verdicts: {
        type: "array",
        items: whole({
          policy: nullableText,
          constraint: nullableText,
          reason_code: nullableText,
          denied: count,
          refused: count,
        }),
      },
      shadows: {
        type: "array",
        items: whole({
          policy: text,
          revision: text,
          judged: count,
          ...said,
          verdicts: { type: "array", items: whole({ constraint: nullableText, reason_code: nullableText, ...said }) },
        }),
      },
      policies: {
        type: "array",
        items: whole({
          id: text,
          slots: {
            type: "array",
            items: whole({ slot: { enum: ["enforced", "candidate"] }, revision: nullableRevision, digest: text }),
          },
          stored: wholeOrNull(
            { enforced: slot("What acts. `null`: nothing."), candidate: slot("What is watched. `null`: nothing.") },
            "Where the log of policies says that it stands. `null`: it has none.",
          ),
          drift: {
            enum: ["digest", "slot", "not_loaded", "not_stored", null],
            description:
              "How what this process decides with differs from the log of policies; within a second of a change it does not.",
          },
        }),
      },
      table_revision: nullableText,
      evidence: whole({ head: wholeOrNull({ hash: text }, "The newest row of the evidence log, of all workspaces.") }),
    },
    "Operational evidence of the key's workspace, without content. Not a bill.",
  ),
} as const;
