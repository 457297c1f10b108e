import type { Candidate } from "../../canon/decision.ts";
import type { Operation } from "../../canon/operation.ts";
import { endpointApprovals, type Approval } from "../../decide/approvals.ts";
import { routeCandidates } from "../../decide/candidates.ts";
import { joinedNames } from "./levels.ts";
import { approveSide, deniedState, type SideState, type SideView } from "./side-state.ts";

/**
 * Number of a node of the walk: a denial, or the remaining candidates in any order and what
 * policies see of needs.
 */
export type NodeId = number;

/** What one step does on one side. */
export interface SideStep {
  readonly approvals: readonly Approval[];
  /** What policies see of it; empty for nothing. */
  readonly token: string;
}

/** What is checked after needs and features. */
export interface LastShape {
  readonly operation: Operation;
  readonly dimensions: number | null;
  readonly signatureFamilies: readonly string[];
}

/**
 * The nodes of one side, and where each step leads from each of them. Preferences only choose the
 * node where a walk begins and the order of its candidates, which no approval looks at. One walk is
 * therefore enough for all preferences that leave the same candidates.
 */
export class SideWalk {
  readonly #view: SideView;
  readonly #nodes: SideState[] = [];
  readonly #known = new Map<string, NodeId>();
  readonly #next = new Map<SideStep, (NodeId | undefined)[]>();
  readonly #last = new Map<LastShape, (NodeId | undefined)[]>();
  readonly #states = new Map<number, SideState>();

  constructor(view: SideView) {
    this.#view = view;
  }

  /** The node where requests begin whose preferences led to a state. */
  nodeOf({ denied, candidates }: SideState): NodeId {
    const { table, opened } = this.#view;
    if (denied !== null || opened === null) return this.#numberOf(DENIED_AT_START);
    const left = new Set(candidates.map(nameOf));
    const inOrder = routeCandidates(table, opened.route).filter((candidate) =>
      left.has(nameOf(candidate)),
    );
    return this.#numberOf({ denied: null, candidates: inOrder, seen: "" });
  }

  isDenied(node: NodeId): boolean {
    return this.#at(node).denied !== null;
  }

  next(step: SideStep, node: NodeId): NodeId {
    let known = this.#next.get(step);
    if (known === undefined) this.#next.set(step, (known = []));
    return (known[node] ??= this.#taken(step, this.#at(node)));
  }

  /**
   * The node after the last check. @param shape the same object wherever it says the same, so that
   * it is looked at once.
   */
  last(node: NodeId, shape: LastShape): NodeId {
    if (this.isDenied(node)) return node;
    let known = this.#last.get(shape);
    if (known === undefined) this.#last.set(shape, (known = []));
    return (known[node] ??= this.#checked(this.#at(node), shape));
  }

  #checked(state: SideState, shape: LastShape): NodeId {
    const { opened, table } = this.#view;
    const approvals = opened === null ? [] : endpointApprovals(table, opened.workspace, shape);
    return this.#numberOf(approveSide(this.#view, state, approvals));
  }

  /**
   * The state of requests that began in a state and have come to a node. @param number of the
   * state; equal for equal ones.
   */
  stateAt(node: NodeId, start: SideState, number: number): SideState {
    const key = node * STATES + number;
    const known = this.#states.get(key);
    if (known !== undefined) return known;
    const made = this.#stateAt(this.#at(node), start);
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

  #taken({ approvals, token }: SideStep, state: SideState): NodeId {
    const approved = approveSide(this.#view, state, approvals);
    const isSeen = token !== "" && approved.denied === null;
    return this.#numberOf(
      isSeen ? { ...approved, seen: joinedNames(approved.seen, token) } : approved,
    );
  }

  #at(node: NodeId): SideState {
    const state = this.#nodes[node];
    if (state === undefined) throw new RangeError(`simulation: a side has no node ${node}`);
    return state;
  }

  #numberOf(state: SideState): NodeId {
    const { denied, candidates, seen } = state;
    const key = denied === null ? `${candidates.map(nameOf).join("\n")}\n\n${seen}` : `!${denied}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const made = this.#nodes.push(state) - 1;
    this.#known.set(key, made);
    return made;
  }
}

/** So many states at most fit beside the number of a node. */
const STATES = 2 ** 26;

/**
 * Preferences have refused the request already, or the side has no such route: how does not matter
 * to a walk.
 */
const DENIED_AT_START: SideState = { denied: "", candidates: [], seen: "" };

/** What approvals see of a candidate. A route may have an endpoint in two tiers. */
function nameOf({ endpoint, rank }: Candidate): string {
  return `${endpoint.id} ${rank}`;
}
