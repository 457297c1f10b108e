/** Checked by `npm run typecheck`: no line of the log, at any depth, takes free text. */
import type { LogRecord } from "../../src/telemetry/log-record.ts";
import type { Expect, FreeText, Is } from "../evidence/record.test-d.ts";

export type Proofs = [
  Expect<Is<FreeText<LogRecord, "line">, never>>,
  // The proof is worth something only if it finds what it looks for in one of many kinds of line.
  Expect<
    Is<
      FreeText<LogRecord | { readonly event: "x"; readonly message: string }, "line">,
      "line.message"
    >
  >,
  Expect<
    Is<FreeText<LogRecord | { readonly event: "x"; readonly error: unknown }, "line">, "line.error">
  >,
];
