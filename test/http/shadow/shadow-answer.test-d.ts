/**
 * Checked by `npm run typecheck`: no member of a report about a revision in shadow, at any depth,
 * takes free text.
 */
import type { ShadowAnswer } from "../../../src/http/control/policy-shadow.ts";
import type { Expect, FreeText, Is } from "../../evidence/record.test-d.ts";

export type Proofs = [
  Expect<Is<FreeText<ShadowAnswer, "shadow">, never>>,
  // The proof is worth something only if it finds what it looks for.
  Expect<
    Is<
      FreeText<ShadowAnswer & { readonly looked_at: { readonly note: string } }, "s">,
      "s.looked_at.note"
    >
  >,
  Expect<
    Is<
      FreeText<ShadowAnswer & { readonly examples: readonly { note: string }[] }, "s">,
      "s.examples[].note"
    >
  >,
];
