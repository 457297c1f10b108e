import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The cases stand beside the project while it is developed; users have OPA's own files. */
const BESIDE = new URL("../../../../shared/opa-cases/cases.jsonl", import.meta.url);

/** Where cases are when nobody says: `$SIGNALBOX_OPA_CASES`, or beside the project; `null` where there are none. */
export function casesAtHand(): string | null {
  const named = process.env["SIGNALBOX_OPA_CASES"];
  if (named !== undefined && named !== "") return named;
  return existsSync(BESIDE) ? fileURLToPath(BESIDE) : null;
}
