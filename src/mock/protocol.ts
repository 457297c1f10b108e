import type { Answer, JsonAnswer, StreamEvent } from "./answer.ts";
import type { Behaviour } from "./behaviour.ts";

/** One request, as a protocol sees it. */
export interface Exchange {
  /** Number of the request, from 1. */
  readonly sequence: number;
  /** The parsed body; `undefined` where there is none or where it is not JSON. */
  readonly body: unknown;
  /** The value of a header, by its lower-case name; empty where it is absent. */
  header(name: string): string;
  /** The behaviour, or the healthy one where its `times` have been used up for this model. */
  inForce(behaviour: Behaviour, model: string): Behaviour;
}

export interface Reply {
  readonly answer: Answer;
  readonly behaviour: Behaviour;
}

/** One wire protocol that the simulated provider speaks. A new one is a file that makes such a value, and a row in `endpoints.ts`. */
export interface Protocol {
  answer(exchange: Exchange): Reply;
  /** An error in the protocol's own shape. */
  refuse(status: number, message: string): JsonAnswer;
  /** The events with which a stream fails; the first one's data is also the body of a failure that is not streamed. */
  readonly failure: readonly StreamEvent[];
}
