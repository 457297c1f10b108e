import type { Candidate } from "../../canon/decision.ts";
import type { Operation } from "../../canon/operation.ts";
import { endpointApprovals, type Approval } from "../../decide/approvals.ts";
import { routeCandidates } from "../../decide/candidates.ts";
import { joinedNames } from "./blocks.ts";
import { approveSide, deniedState, type SideState, type SideView } from "./side-state.ts";

/** How far a side has come, as a number: a denial, or the candidates that are left, in any order, and what policies see of needs. */
export type Place = number;

/** What one step does on one side. */
export interface SideStep {
  readonly approvals: readonly Approval[];
  /** What policies see of it; empty for nothing. */
  readonly token: string;
}

/** What is asked after needs and features. */
export interface LastShape {
  readonly operation: Operation;
  readonly dimensions: number | null;
  readonly signatureFamilies: readonly string[];
}

/**
 * The places of one side: which ones there are, and where each step leads from each of them. Preferences only choose the place where a walk begins, and the
 * order of its candidates, which no approval looks at; so whatever they are, one walk is enough for the candidates that they leave.
 */
export class SideWalk {
  readonly #view: SideView;
  readonly #places: SideState[] = [];
  readonly #known = new Map<string, Place>();
  readonly #next = new Map<SideStep, (Place | undefined)[]>();
  readonly #last = new Map<string, Place>();
  readonly #states = new Map<string, SideState>();

  constructor(view: SideView) {
    this.#view = view;
  }

  /** Where requests begin that have come to a state by their preferences. */
  placeOf({ denied, candidates }: SideState): Place {
    const { table, opened } = this.#view;
    if (denied !== null || opened === null) return this.#numberOf(DENIED_AT_START);
    const left = new Set(candidates.map(nameOf));
    const inOrder = routeCandidates(table, opened.route).filter((candidate) => left.has(nameOf(candidate)));
    return this.#numberOf({ denied: null, candidates: inOrder, seen: "" });
  }

  isDenied(place: Place): boolean {
    return this.#at(place).denied !== null;
  }

  next(step: SideStep, place: Place): Place {
    let known = this.#next.get(step);
    if (known === undefined) this.#next.set(step, (known = []));
    return (known[place] ??= this.#taken(step, this.#at(place)));
  }

  /** Where a request comes to by what is asked last. */
  last(place: Place, shape: LastShape): Place {
    if (this.isDenied(place)) return place;
    const key = `${place} ${shape.dimensions} ${shape.signatureFamilies.join()}`;
    const known = this.#last.get(key);
    if (known !== undefined) return known;
    const { opened, table } = this.#view;
    const state = this.#at(place);
    const approvals = opened === null ? [] : endpointApprovals(table, opened.workspace, shape);
    const made = this.#numberOf(approveSide(this.#view, state, approvals));
    this.#last.set(key, made);
    return made;
  }

  /** The state of requests that began in a state and have come to a place. @param number of the state; equal for equal ones. */
  stateAt(place: Place, start: SideState, number: number): SideState {
    const key = `${place} ${number}`;
    const known = this.#states.get(key);
    if (known !== undefined) return known;
    const made = this.#stateAt(this.#at(place), start);
    this.#states.set(key, made);
    return made;
  }

  #stateAt({ denied, candidates, seen }: SideState, start: SideState): SideState {
    if (start.denied !== null) return start;
    if (denied !== null) return deniedState(denied);
    const left = new Set(candidates.map(nameOf));
    const inOrder = start.candidates.filter((candidate) => left.has(nameOf(candidate)));
    const isWhole = inOrder.length === start.candidates.length;
    if (isWhole && seen === "") return start;
    return {
      denied: null,
      candidates: isWhole ? start.candidates : inOrder,
      seen: seen === "" ? start.seen : `${start.seen}#${seen}`,
    };
  }

  #taken({ approvals, token }: SideStep, state: SideState): Place {
    const approved = approveSide(this.#view, state, approvals);
    const isSeen = token !== "" && approved.denied === null;
    return this.#numberOf(isSeen ? { ...approved, seen: joinedNames(approved.seen, token) } : approved);
  }

  #at(place: Place): SideState {
    const state = this.#places[place];
    if (state === undefined) throw new RangeError(`simulation: a side has no place ${place}`);
    return state;
  }

  #numberOf(state: SideState): Place {
    const { denied, candidates, seen } = state;
    const key = denied === null ? `${candidates.map(nameOf).join("\n")}\n\n${seen}` : `!${denied}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const made = this.#places.push(state) - 1;
    this.#known.set(key, made);
    return made;
  }
}

/** Preferences have refused the request already, or the side has no such route: how does not matter to a walk. */
const DENIED_AT_START: SideState = { denied: "", candidates: [], seen: "" };

/** What approvals see of a candidate. A route may have an endpoint in two tiers. */
function nameOf({ endpoint, rank }: Candidate): string {
  return `${endpoint.id} ${rank}`;
}
