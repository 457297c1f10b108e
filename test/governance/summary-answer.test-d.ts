/**
 * Checked by `npm run typecheck`: no member of a summary, at any depth, takes free text. A member
 * of type `string` makes `FreeText` name its path, and the assignment below no longer compiles.
 */
import type { Identifier } from "../../src/evidence/record.ts";
import type { SummaryAnswer } from "../../src/governance/summary-answer.ts";

type FreeText<Value, Path extends string> = unknown extends Value ? Path : PathIn<Value, Path>;

type PathIn<Value, Path extends string> = Value extends Identifier
  ? never
  : Value extends string
    ? {} extends Record<Value, 1>
      ? Path
      : never
    : Value extends number | boolean | null | undefined
      ? never
      : Value extends readonly (infer Item)[]
        ? FreeText<Item, `${Path}[]`>
        : Value extends object
          ? string extends keyof Value
            ? Path
            : {
                [Name in keyof Value & string]-?: FreeText<Value[Name], `${Path}.${Name}`>;
              }[keyof Value & string]
          : Path;

type Expect<Condition extends true> = Condition;
type Is<Left, Right> = [Left] extends [Right] ? ([Right] extends [Left] ? true : false) : false;

export type Proofs = [
  Expect<Is<FreeText<SummaryAnswer, "summary">, never>>,
  // The proof is worth something only if it finds what it looks for.
  Expect<
    Is<
      FreeText<SummaryAnswer & { readonly totals: { readonly note: string } }, "s">,
      "s.totals.note"
    >
  >,
];
