import type { Behaviour, ResultMember } from "../../behaviour.ts";
import { unplayable, type Problem } from "../../problem.ts";
import type { Batch } from "../protocol.ts";
import { listResults, overflow, type Listed } from "../results.ts";
import { base64Of, USUAL_LENGTH, vectorOf } from "./vector.ts";

/** Members about lists of vectors, of any protocol. */
export const VECTOR_MEMBERS: readonly ResultMember[] = [
  "dimensions",
  "short",
  "wrongDimension",
  "nan",
  "failOver",
  "poison",
];

/** A request for vectors. */
export interface EmbedBatch extends Batch {
  /** What each vector is made from: a text, or a text that represents a list of token numbers. */
  readonly sources: readonly string[];
  /** Length of the vectors; `null` where the request gives none. */
  readonly dimensions: number | null;
  readonly tokens: number;
}

export type Encoding = "float" | "base64";

/** The vectors in the order of the answer, each as its JSON value. */
export function embed(
  batch: EmbedBatch,
  behaviour: Behaviour,
  encoding: Encoding = "float",
): readonly Listed<unknown>[] | Problem {
  const length = batch.dimensions ?? behaviour.dimensions ?? USUAL_LENGTH;
  if (behaviour.wrongDimension && length === 1)
    return unplayable('mock: "wrong-dimension" needs vectors of at least 2 numbers');
  const right = batch.sources.map((item, index) => ({ index, item }));
  const listed = listResults(right, batch.count, behaviour);
  if ("status" in listed) return listed;
  return listed.map(({ index, item }, position) => {
    const isLast = position === listed.length - 1;
    const vector = vectorOf(item, behaviour.wrongDimension && isLast ? length - 1 : length);
    return { index, item: written(vector, encoding, behaviour.nan && position === 0) };
  });
}

function written(vector: readonly number[], encoding: Encoding, isBroken: boolean): unknown {
  const rest = isBroken ? vector.slice(1) : vector;
  if (encoding === "base64") return base64Of(isBroken ? [NaN, ...rest] : rest);
  return isBroken ? [overflow(), ...rest] : rest;
}
