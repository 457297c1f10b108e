/**
 * Checked by `npm run typecheck`: no member of an evidence record, at any depth, takes free text. A
 * member of type `string` makes `FreeText` name its path, and the assignment below no longer
 * compiles.
 */
import type { DecisionRecord, OutcomeRecord, Identifier } from "../../src/evidence/record.ts";

/**
 * Paths of members that could hold unvetted text: `string`, template literals, `unknown` and `any`.
 */
export type FreeText<Value, Path extends string> = unknown extends Value
  ? Path
  : PathIn<Value, Path>;

type PathIn<Value, Path extends string> = Value extends Identifier
  ? never
  : Value extends string
    ? IsEnum<Value> extends true
      ? never
      : Path
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

/**
 * A literal such as `"deny"` is the only key of its record; `string` and template literals make an
 * index signature.
 */
type IsEnum<Text extends string> = {} extends Record<Text, 1> ? false : true;

export type Expect<Condition extends true> = Condition;
export type Is<Left, Right> = [Left] extends [Right]
  ? [Right] extends [Left]
    ? true
    : false
  : false;

export type Proofs = [
  Expect<Is<FreeText<DecisionRecord, "decision">, never>>,
  Expect<Is<FreeText<OutcomeRecord, "outcome">, never>>,
  // The proof is worth something only if it finds what it looks for.
  Expect<Is<FreeText<DecisionRecord & { readonly prompt: string }, "d">, "d.prompt">>,
  Expect<Is<FreeText<{ readonly a: readonly { readonly b: string | null }[] }, "d">, "d.a[].b">>,
  Expect<Is<FreeText<{ readonly a?: string }, "d">, "d.a">>,
  Expect<Is<FreeText<{ readonly a: `req_${string}` }, "d">, "d.a">>,
  Expect<Is<FreeText<{ readonly a: unknown }, "d">, "d.a">>,
  Expect<Is<FreeText<{ readonly a: Record<string, number> }, "d">, "d.a">>,
  Expect<
    Is<
      FreeText<
        { readonly a: "x" | "y"; readonly b: Identifier | null; readonly c: readonly number[] },
        "d"
      >,
      never
    >
  >,
];
