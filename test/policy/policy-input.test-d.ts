/**
 * Checked by `npm run typecheck`: every member of a policy's input, at any depth, is an enum, a
 * boolean or a number, but for the ids and values listed here. `finite-input.test.ts` proves of
 * each of them that its values are those of the table.
 */
import type { PolicyInput } from "../../src/canon/policy.ts";

type ValuesOfTheTable =
  | "input.workspace.id"
  | "input.workspace.tier"
  | "input.workspace.labels[]"
  | "input.key.environment"
  | "input.key.workload"
  | "input.key.owner"
  | "input.key.labels[]"
  | "input.request.route"
  // By time zone: those that policies name.
  | "input.local_time"
  | "input.candidates[].id"
  | "input.candidates[].model"
  | "input.candidates[].provider"
  | "input.candidates[].region"
  | "input.candidates[].dialect"
  | "input.candidates[].signature_family"
  // It may be absent.
  | "input.candidates[].price";

/** Paths of members that are neither an enum nor a boolean nor a number. */
type Open<Value, Path extends string> = unknown extends Value ? Path : OpenIn<Value, Path>;

type OpenIn<Value, Path extends string> = Value extends string
  ? {} extends Record<Value, 1>
    ? Path
    : never
  : Value extends number | boolean
    ? never
    : Value extends readonly (infer Item)[]
      ? Open<Item, `${Path}[]`>
      : Value extends object
        ? string extends keyof Value
          ? Path
          : { [Name in keyof Value & string]-?: Open<Value[Name], `${Path}.${Name}`> }[keyof Value &
              string]
        : Path;

type Expect<Condition extends true> = Condition;
type Is<Left, Right> = [Left] extends [Right] ? ([Right] extends [Left] ? true : false) : false;

export type Proofs = [
  Expect<Is<Open<PolicyInput, "input">, ValuesOfTheTable>>,
  // The proof is worth something only if it finds what it looks for.
  Expect<Is<Open<{ readonly prompt: string; readonly day: "x" | "y" }, "i">, "i.prompt">>,
  Expect<Is<Open<{ readonly a: readonly { readonly b: unknown }[] }, "i">, "i.a[].b">>,
  Expect<Is<Open<{ readonly a: Record<string, number> }, "i">, "i.a">>,
  Expect<Is<Open<{ readonly a?: boolean }, "i">, "i.a">>,
];
