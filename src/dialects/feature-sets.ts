import type { Feature } from "../canon/generate/feature.ts";

/** Members of sampling. */
export const SAMPLING = [
  "sampling",
  "temperature_above_1",
  "penalties",
  "penalties_outside_0_1",
  "logit_bias",
  "seed",
] as const satisfies readonly Feature[];
/** Every effort of reasoning. */
export const EFFORTS = [
  "effort_none",
  "effort_minimal",
  "effort_low",
  "effort_medium",
  "effort_high",
  "effort_xhigh",
  "effort_max",
] as const satisfies readonly Feature[];
/** Every way to choose among tools. */
export const TOOL_CHOICES = [
  "tool_choice_required",
  "tool_choice_named",
  "tool_choice_allowed",
  "parallel_tool_calls_off",
  "one_tool_called_once",
  "tool_strict",
] as const satisfies readonly Feature[];
