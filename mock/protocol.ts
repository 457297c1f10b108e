import type { Answer, JsonAnswer, FailureGrammar } from "./answer.ts";
import type { Behaviour } from "./behaviour.ts";
import type { Problem } from "./problem.ts";

/** One request, as a protocol sees it. */
export interface Exchange {
  /** Number of the request, from 1. */
  readonly sequence: number;
  /** Path and query, as they were sent. */
  readonly target: string;
  /** The parsed body; `undefined` where there is none or where it is not JSON. */
  readonly body: unknown;
  /** The body's text where it holds settings (`[x-mock: 503]`), else empty. */
  readonly text: string;
  /** The value of a header, by its lower-case name; empty where it is absent. */
  header(name: string): string;
  /** The behaviour, or the healthy one where its `times` have been used up for this model. */
  inForce(behaviour: Behaviour, model: string): Behaviour;
}

export interface Reply {
  readonly answer: Answer;
  readonly behaviour: Behaviour;
}

/**
 * One endpoint of a wire protocol that the simulated provider speaks. A new one is a folder that
 * makes such a value, and a row in `endpoints.ts`.
 */
export interface Protocol {
  answer(exchange: Exchange): Reply;
  /** An error in the protocol's own shape. */
  refuse(problem: Problem, sequence: number): JsonAnswer;
  readonly failure: FailureGrammar;
}
