import { line, span, type Line } from "../../../simulate/formats/terminal/layout.ts";
import type { PolicyView } from "../server/view.ts";
import { actingText, contentText } from "./contents.ts";

/** What acts after a change, what is watched, and how the change is undone. @param undo a command to paste; `null` where none undoes it. */
export function outcomeLines(done: string, view: PolicyView, undo: string | null): readonly Line[] {
  const { enforced, candidate } = view;
  const watched =
    candidate === null
      ? ""
      : `; ${contentText(candidate)} is watched${candidate.held ? " and held, so that it cannot be promoted" : ""}`;
  return [
    line(0, span(done, "green")),
    line(0, span(`now: ${actingText(enforced)}${watched}`)),
    ...(undo === null ? [] : [{ ...line(0, span("undo: "), span(undo, "cyan")), whole: true }]),
  ];
}
