import { error, warning, type CodeFacts } from "./code-facts.ts";

/** Findings about rows that name a preset or were written from one. */
export const PRESET_CODES = {
  UNKNOWN_PRESET: error(
    "A preset that this release does not have.",
    "Use one of docs/presets.md, or write the row out.",
  ),
  PRESET_REGION: error(
    "A preset has no address for the region of its row, or the row has `preset_region` without a preset.",
    "Name one of the preset's regions with `preset_region`, or write `base_url`; `region` keeps your own name.",
  ),
  PRESET_ADDRESS: error(
    "The host of the preset contains a name of your account, so the preset has no complete host.",
    "Write `base_url`; everything else comes from the preset.",
  ),
  PLACEHOLDER_LEFT: warning(
    "A row still has a placeholder such as RESOURCE or DEPLOYMENT from a preset or `signalbox init`, so every call would fail.",
    "Replace it with your own name: of the resource, the project or the deployment.",
  ),
} as const satisfies Record<string, CodeFacts>;
