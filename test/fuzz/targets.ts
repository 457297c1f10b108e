import type { FuzzTarget } from "./target.ts";
import { ANSWERS } from "./targets/answers.ts";
import { BODIES_OF_SURFACES } from "./targets/bodies.ts";
import { FRAMING } from "./targets/framing.ts";
import { TEXTS } from "./targets/texts.ts";
import { WORKLOADS } from "./targets/workloads.ts";

/** Every parser that reads what somebody else has written. */
export const TARGETS: readonly FuzzTarget[] = [
  ...FRAMING,
  ...TEXTS,
  ...WORKLOADS,
  ...BODIES_OF_SURFACES,
  ...ANSWERS,
];
