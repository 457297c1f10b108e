import { error, warning, type CodeFacts } from "./code-facts.ts";

/** Findings about rows that name a preset or were written from one. */
export const PRESET_CODES = {
  UNKNOWN_PRESET: error(
    "A preset that this release does not have.",
    "Use one of docs/presets.md, or write the row out.",
  ),
  PRESET_REGION: error(
    "A preset has no address for the region of its row, or `preset_region` is there without a preset.",
    "Name one of the preset's regions with `preset_region`, or write `base_url`; `region` stays the word that your file uses.",
  ),
  PRESET_ADDRESS: error(
    "The host of a preset carries a name of the account, so the preset cannot know it.",
    "Write `base_url`; everything else comes from the preset.",
  ),
  PLACEHOLDER_LEFT: warning(
    "A row still holds a placeholder such as RESOURCE or DEPLOYMENT, as presets and `signalbox init` write it, so every call would fail.",
    "Write your own name in its place: of the account's resource or project, or of the deployment.",
  ),
} as const satisfies Record<string, CodeFacts>;
