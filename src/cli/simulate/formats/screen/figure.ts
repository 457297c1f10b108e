import type { CandidateReport, ChangeGroup } from "../../../../simulate/report/report.ts";
import { OTHER_SIDE, type SideName } from "../../../../simulate/sample-request.ts";
import type { ReportModel } from "../model.ts";
import { effectsOf } from "./effects.ts";

/** The requests of an effect: who sends them, the route, and the endpoints before and after. */
export type Figure = ReturnType<typeof figuresOf>[number];

export interface FigureEnd {
  readonly text: string;
  readonly mark: "same" | "gained" | "lost";
}

/** More are no overview any more. */
const MOST_CAUSES = 4;
const MOST_EFFECTS = 3;

/** Of the worst effects of each cause. */
export function figuresOf(report: ReportModel) {
  return report.causes.slice(0, MOST_CAUSES).flatMap((cause) =>
    effectsOf(cause, report)
      .effects.slice(0, MOST_EFFECTS)
      .map(({ group, workspaces, routes }) => ({
        workspaces,
        route: routes.join(", "),
        before: endsOf(group, "base"),
        after: endsOf(group, "head"),
        /** The same as a sentence. */
        text: `${workspaces.join(", ")} asking ${routes.join(", ")}: before ${planText(group.base)}; after ${planText(group.head)}`,
      })),
  );
}

function endsOf(group: ChangeGroup, side: SideName): readonly FigureEnd[] {
  const { plan, denial } = group[side];
  const other = group[OTHER_SIDE[side]].plan;
  const mark = ({ endpoint }: CandidateReport) =>
    other.some((there) => there.endpoint === endpoint)
      ? "same"
      : side === "head"
        ? "gained"
        : "lost";
  if (denial !== null)
    return [{ text: `refused: ${denial.policy}`, mark: side === "head" ? "lost" : "same" }];
  return plan.map((candidate, index) => ({
    text: `${index + 1}. ${candidate.endpoint} (${candidate.region})`,
    mark: mark(candidate),
  }));
}

function planText({ plan, denial }: ChangeGroup["base"]) {
  return denial === null ? plan.map(({ endpoint }) => endpoint).join(", then ") : "refused";
}
