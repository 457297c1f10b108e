import { formatTime } from "../../canon/rfc3339.ts";
import type { SummaryStore } from "../../governance/increments.ts";
import {
  shadowCountReport,
  type ShadowCountReport,
  type ShadowReader,
} from "../../governance/shadow-report.ts";
import {
  findExamples,
  type ExampleLog,
  type ExampleQuestion,
  type FoundExamples,
} from "../../simulate/evidence/find-examples.ts";
import type { SummaryTurns } from "./governance-summary.ts";
import { asIdentifier } from "../../evidence/record.ts";

/** Query parameters, for /openapi.json. */
export const SHADOW_QUERY = {
  examples: {
    type: "integer",
    minimum: 0,
    maximum: 100,
    default: 20,
    description: "How many classes of requests to show; 0 shows none and skips the search.",
  },
} as const;

/** Inputs of a report from the store. */
export interface ShadowSource extends SummaryStore {
  readonly evidence: ExampleLog;
  /** One report of a workspace at a time, and no summary beside it where they share these. */
  readonly turns: SummaryTurns;
}

/**
 * Verdicts of a revision in shadow, with requests to try. Workspaces that the reader does not see
 * are in the numbers and in nothing else.
 *
 * @param examples how many classes to show; 0 leaves the evidence unread. @param now milliseconds
 * since the epoch.
 */
export async function policyShadow(
  source: ShadowSource,
  line: ShadowLine,
  reader: ShadowReader,
  examples: number,
  now: number,
): Promise<{ readonly text: string }> {
  return source.turns.take(reader.workspace, async () => {
    const counts = await shadowCountReport(source, line, reader, now);
    const workspace = reader.seesAll ? null : reader.workspace;
    const found =
      examples === 0
        ? { examples: [], lookedAt: { decisions: 0, since: null, complete: false } }
        : await findExamples(source.evidence, { ...line, workspace, limit: examples });
    return { text: JSON.stringify(shadowAnswer(line, counts, found, now)) };
  });
}

/** The revision that a report is about, as the policy log has it. */
export interface ShadowLine extends Omit<ExampleQuestion, "workspace" | "limit"> {
  readonly digest: string;
  /** When it entered its slot, milliseconds since the epoch; a candidate may have come back. */
  readonly since: number;
}

/**
 * Answer of `GET /v1/policies/{id}/shadow`: counts over all hours in which the revision was
 * evaluated, and requests of the newest evidence to try. Enum values, numbers and closed lists:
 * `test/http/shadow/shadow-answer.test-d.ts` proves that no member takes free text.
 */
export type ShadowAnswer = ReturnType<typeof shadowAnswer>;

/** @param now milliseconds since the epoch. */
function shadowAnswer(
  { policy, revision, digest, since }: ShadowLine,
  counts: ShadowCountReport,
  found: FoundExamples,
  now: number,
) {
  return {
    object: "policy.shadow",
    policy: asIdentifier(policy),
    revision: asIdentifier(`r${revision}`),
    digest: asIdentifier(digest),
    // When it entered its slot. The numbers include an earlier time in shadow.
    since: asIdentifier(formatTime(since)),
    // Up to when evidence is in the numbers.
    until: asIdentifier(formatTime(now)),
    ...counts,
    examples: found.examples,
    looked_at: found.lookedAt,
  } as const;
}
