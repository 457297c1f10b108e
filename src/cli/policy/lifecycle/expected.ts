import { UsageError } from "../../terminal/command-io.ts";
import type { Flags, Values } from "./command.ts";
import { NotNowError } from "./server/refusal.ts";
import type { PolicyView } from "./server/view.ts";

/** `r4`, or `none` for an empty slot, as `null`; `undefined` where the flag is not given. @throws {UsageError} */
export function readRevision(flag: string, text: string | undefined): number | null | undefined {
  if (text === undefined) return undefined;
  if (text === "none") return null;
  if (!/^r\d{1,9}$/.test(text)) throw new UsageError(`${flag}: must be a revision such as r4, or none`);
  return Number(text.slice(1));
}

/** What a slot must have held when a command was written down; `undefined`: whatever is there. */
interface Expected {
  readonly candidate: number | null | undefined;
  readonly enforced: number | null | undefined;
}

export const EXPECT_FLAGS = {
  "expect-candidate": {
    type: "string",
    value: "R",
    help: "Only if the candidate is this revision, such as r4; none: if there is no candidate.",
  },
  "expect-enforced": {
    type: "string",
    value: "R",
    help: "Only if this revision is enforced; none: if nothing is enforced yet.",
  },
} as const satisfies Flags;

/** @throws {UsageError} */
export function readExpected(values: Values<typeof EXPECT_FLAGS>): Expected {
  return {
    candidate: readRevision("--expect-candidate", values["expect-candidate"]),
    enforced: readRevision("--expect-enforced", values["expect-enforced"]),
  };
}

/**
 * Holds a policy against `--expect-candidate` and `--expect-enforced`: a pipeline that expects r4 must not promote r5.
 *
 * @throws {NotNowError}
 */
export function refuseUnexpected(view: PolicyView, expected: Expected): void {
  for (const slot of ["candidate", "enforced"] as const) {
    const wanted = expected[slot];
    const present = view[slot]?.revision ?? "none";
    if (wanted !== undefined && (wanted === null ? "none" : `r${wanted}`) !== present) {
      throw new NotNowError(
        `--expect-${slot}: it is ${present} now; nothing was done; read it again: signalbox policy show ${view.id}`,
      );
    }
  }
}
