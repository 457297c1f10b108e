import type { Operation } from "../../canon/operation.ts";
import type { CompiledPolicy } from "../../policy/compiled.ts";
import { readsPath } from "../../policy/policy-set.ts";

/** What the contents of one policy on both sides read and write down, taken together. */
export interface PolicyReads {
  /** Whether a dotted path from `input` or `data` is read. */
  readonly path: (path: string) => boolean;
  /**
   * Whether a member of candidates is read: their reads name the list only, and the policy contains
   * the member's name.
   */
  readonly ofCandidates: (member: string) => boolean;
  /** Whether the policy may distinguish the name from every other one. */
  readonly tellsApart: (name: string) => boolean;
  /** Operations with the same text are the same to it. */
  readonly operationKey: (operation: Operation) => string;
  /** Numbers that its rules contain, ascending. */
  readonly numbers: readonly number[];
}

/** Numbers of a policy that are tried as prices; with more of them the largest are left out. */
const MOST_NUMBERS = 8;

/** @param contents on both sides; at least one. */
export function policyReads(contents: readonly CompiledPolicy[]): PolicyReads {
  const strings = new Set(contents.flatMap(({ stringUse }) => stringUse.strings));
  const inspects = contents.some(({ stringUse }) => stringUse.inspects.length > 0);
  const path = (wanted: string): boolean => contents.some((content) => readsPath(content, wanted));
  const readsOperation = path("input.operation");
  return {
    path,
    ofCandidates: (member) => path("input.candidates") && strings.has(member),
    tellsApart: (name) => inspects || strings.has(name),
    operationKey: (operation) =>
      JSON.stringify([
        ...contents.map(({ contract }) => contract.operations.includes(operation)),
        readsOperation && (inspects || strings.has(operation)) ? operation : "",
      ]),
    numbers: numbersIn(contents).slice(0, MOST_NUMBERS),
  };
}

function numbersIn(contents: readonly CompiledPolicy[]): readonly number[] {
  const texts = contents.flatMap(({ sources }) =>
    sources.map(({ source }) => source.replaceAll(/#.*$/gm, "")),
  );
  const found = texts.flatMap((text) =>
    [...text.matchAll(/(?<![\w."])\d+(?:\.\d+)?/g)].map(([number]) => Number(number)),
  );
  return [...new Set(found)].filter((number) => number > 0).toSorted((left, right) => left - right);
}
