import { error, type CodeFacts } from "./code-facts.ts";

/** Findings about the files that routes.yaml includes, and about overlays. */
export const FILE_CODES = {
  INCLUDE_NOT_FOUND: error(
    "An entry of `include` names no file: it is not there, or no file fits the pattern.",
    "Correct the path; it is relative to the folder of routes.yaml.",
  ),
  INCLUDE_OUTSIDE: error(
    "An included file, or an overlay, is a link that leads out of the folder of routes.yaml.",
    "Put the file itself into the folder: what is outside of it is not reviewed with it.",
  ),
  INCLUDE_SELF: error(
    "An entry of `include` names routes.yaml itself or an overlay.",
    "Remove it; overlays are chosen with `--environment`.",
  ),
  INCLUDE_NESTED: error(
    "An included file or an overlay includes further files. Only routes.yaml does, so that one file shows all there are.",
    "Move the entries to `include` of routes.yaml.",
  ),
  INCLUDE_DUPLICATE: error(
    "Two files define the same key; which of them was meant, nobody can know.",
    "Keep one of the two. What differs by environment belongs into an overlay.",
  ),
  SECTION_MISPLACED: error(
    "An included file or an overlay has a key that only routes.yaml can have: `policies.dir` says what is read.",
    "Move it to routes.yaml.",
  ),
  ENVIRONMENT_UNKNOWN: error(
    "An environment was asked for, with `--environment` or SIGNALBOX_ENVIRONMENT, that has no overlay beside routes.yaml.",
    "Correct the name, or write `routes.NAME.yaml`.",
  ),
  OVERLAY_REMOVES_NOTHING: error(
    "An overlay removes, with `null`, what is not there.",
    "Correct the spelling, or remove the line.",
  ),
} as const satisfies Record<string, CodeFacts>;
