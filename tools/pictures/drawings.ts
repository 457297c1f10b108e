import { conceptsDrawing } from "./concepts.ts";
import { firstLookDrawing } from "./first-look.ts";
import { policyLifeDrawing } from "./policy-life.ts";
import { requestDrawing } from "./request.ts";
import { translatedStreamDrawing } from "./translated-stream.ts";

/** The drawings of docs/images by the names of their files. */
export const DRAWINGS: Readonly<Record<string, () => string>> = {
  "concepts.svg": conceptsDrawing,
  "first-look.svg": firstLookDrawing,
  "request.svg": requestDrawing,
  "policy-life.svg": policyLifeDrawing,
  "translated-stream.svg": translatedStreamDrawing,
};
