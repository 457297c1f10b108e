import { numbered, remembered } from "../remembered.ts";
import type { Capability, Feature } from "../../canon/capability.ts";
import type { Operation } from "../../canon/operation.ts";
import { capabilityApprovals, featureApproval, type Approval } from "../../decide/approvals.ts";
import { routeCandidates } from "../../decide/candidates.ts";
import type { SampleRequest } from "../sample-request.ts";
import type { Projection } from "./readers.ts";
import {
  needToken,
  type LastShape,
  type NodeId,
  type SideStep,
  type SideView,
  type SideWalk,
} from "./side-walk.ts";
import type { OperationUniverse } from "./universe.ts";

/** A need or a feature, which a request has or has not. */
export interface Step {
  readonly need: Capability | null;
  readonly feature: Feature | null;
  /** The name that assertions see; empty for none. */
  readonly asserted: string;
  /** Every request has it. */
  readonly isForced: boolean;
  /** It only changes the number of requests. */
  readonly isIdle: boolean;
  /** In the order of the views. */
  readonly sides: readonly SideStep[];
}

/**
 * Needs and features, in the order in which approvals are checked.
 *
 * @param constrained whether the requests have a response schema that no tool can stand in for;
 * `null` where it does not matter.
 */
export function approvalSteps(
  { operation }: SampleRequest,
  universe: OperationUniverse,
  views: readonly SideView[],
  assertions: Projection,
  constrained: boolean | null,
): readonly Step[] {
  const shape = { features: constrained === true ? (["constrained_schema"] as const) : [] };
  const needs = universe.needs.map((need) => ({
    need,
    feature: null,
    asserted: assertedName(assertions, "needs", need),
    isForced: false,
    sides: views.map((view): SideStep => {
      const { opened } = view;
      const approvals =
        opened === null
          ? []
          : capabilityApprovals(opened.workspace, opened.route, { needs: [need], ...shape }, need);
      return { approvals, token: needToken(view, need) };
    }),
  }));
  const features = [...universe.features, ...universe.always]
    .toSorted()
    .filter((feature) => feature !== "constrained_schema" || constrained !== false)
    .filter((feature) => feature !== SIGNED || universe.signatureFamilies.length > 0)
    .map((feature) => ({
      need: null,
      feature,
      asserted: assertedName(assertions, "features", feature),
      isForced:
        universe.always.includes(feature) ||
        (feature === "constrained_schema" && constrained === true),
      sides: views.map((): SideStep => ({
        approvals: [featureApproval(operation, feature)],
        token: "",
      })),
    }));
  return [...needs, ...features].map((step) => {
    const isSeen = step.asserted !== "" || step.sides.some(({ token }) => token !== "");
    // Signed reasoning has a family, which approvals check later.
    const isSigned = step.feature === SIGNED;
    const isIdle = !isSeen && !step.isForced && !isSigned && approvesAll(views, step.sides);
    return { ...step, isIdle };
  });
}

const SIGNED = "signed_reasoning";

/** Names that an assertion does not contain are equal to it, but it may see that there is one. */
function assertedName(assertions: Projection, kind: "needs" | "features", name: string): string {
  if (!assertions.sees(`input.request.${kind}`)) return "";
  return assertions.names(name) ? `${kind} ${name}` : `${kind} ~`;
}

function approvesAll(views: readonly SideView[], sides: readonly SideStep[]) {
  return views.every(({ table, opened }, index) => {
    if (opened === null) return true;
    const candidates = routeCandidates(table, opened.route);
    const passes = ({ passes: pass }: Approval) => candidates.every(pass);
    return sides[index]?.approvals.every(passes) !== false;
  });
}

/**
 * A set of the steps of a walk, a bit each. Of two sets the lower one is that without the highest
 * step in which they differ.
 */
export type StepSet = bigint;

/** The nodes of all sides that requests have reached. */
interface Joint {
  /** Equal for equal nodes. */
  readonly number: number;
  readonly nodes: readonly NodeId[];
  /** Whether every side denies the requests. */
  readonly isDenied: boolean;
  /** The joint after each step; made on demand. */
  readonly next: (Joint | undefined)[];
}

/** Requests that began alike and reached the same nodes. */
interface Walked {
  readonly joint: Joint;
  readonly isSigned: boolean;
  /** The names that assertions have seen. */
  readonly asserted: AssertedSet;
  /** Steps of the simplest of them, and how many there are. */
  readonly part: StepSet;
  readonly names: number;
  /** Steps of all of them. */
  readonly common: StepSet;
  /** Steps of the first of them, the lowest set, without those that every request has. */
  readonly first: StepSet;
  readonly size: bigint;
}

/** So many sets of asserted names, times two, fit beside the number of a joint. */
const ASSERTED = 2 ** 26;

interface ApprovalWalk {
  /** The steps that the sets of {@link Walked} mean. */
  readonly steps: readonly Step[];
  readonly names: AssertedNames;
  /** In any order. */
  readonly from: (nodes: readonly NodeId[]) => readonly Walked[];
}

/**
 * Walks from nodes over all steps, one by one. Requests that reach the same nodes are merged, so
 * that the subsets of a hundred features are not written out. Requests that every side has denied
 * are walked no further: the remaining steps only count them.
 */
export function approvalWalk(
  sides: readonly SideWalk[],
  all: readonly Step[],
  names: AssertedNames,
  check: () => void,
): ApprovalWalk {
  const steps = all.filter(({ isIdle }) => !isIdle);
  const idle = BigInt(all.length - steps.length);
  /** The first step after which assertions see no further one. */
  const assertedUntil = steps.findLastIndex(({ asserted }) => asserted !== "") + 1;
  const joints = new Map<string, Joint>();

  const jointOf = (nodes: readonly NodeId[]) =>
    remembered(joints, nodes.join(), () => {
      const isDenied = nodes.every((node, side) => sides[side]?.isDenied(node) === true);
      return { number: joints.size, nodes, isDenied, next: [] };
    });
  const nextJoint = ({ nodes, next }: Joint, index: number, step: Step) =>
    (next[index] ??= jointOf(
      nodes.map((node, side) => {
        const sideStep = step.sides[side];
        return sideStep === undefined ? node : (sides[side]?.next(sideStep, node) ?? node);
      }),
    ));
  const take = (walked: Walked, index: number, step: Step): Walked => {
    const bit = 1n << BigInt(index);
    return {
      joint: nextJoint(walked.joint, index, step),
      asserted: names.with(walked.asserted, step),
      isSigned: walked.isSigned || step.feature === SIGNED,
      part: walked.part | bit,
      names: walked.names + 1,
      common: walked.common | bit,
      first: step.isForced ? walked.first : walked.first | bit,
      size: walked.size,
    };
  };
  /** Without a step and with it; as one where both lead to the same. */
  const withAndWithout = (walked: Walked, index: number, step: Step): readonly Walked[] => {
    const withStep = take(walked, index, step);
    return keyOf(withStep) === keyOf(walked)
      ? [{ ...walked, size: walked.size * 2n }]
      : [walked, withStep];
  };
  /** The rest of the steps for denied requests: signed reasoning is one request for each family. */
  const ended = (walked: Walked, from: number): readonly Walked[] => {
    let found: readonly Walked[] = [walked];
    let free = 0n;
    for (const [position, step] of steps.slice(from).entries()) {
      const index = from + position;
      if (step.isForced) found = found.map((one) => take(one, index, step));
      else if (step.feature === SIGNED)
        found = found.flatMap((one) => [one, take(one, index, step)]);
      else free += 1n;
    }
    return found.map((one) => ({ ...one, size: one.size << free }));
  };

  const from = (nodes: readonly NodeId[]): readonly Walked[] => {
    const finished: Walked[] = [];
    /** Moves requests that every side denies to `finished`, once assertions see no more of them. */
    const settled = (walked: readonly Walked[], index: number): readonly Walked[] =>
      walked.filter((one) => {
        const isSettled = index >= assertedUntil || names.isSettled(one.asserted);
        if (!isSettled || !one.joint.isDenied) return true;
        finished.push(...ended(one, index));
        return false;
      });
    const start: Walked = {
      joint: jointOf(nodes),
      asserted: names.none,
      isSigned: false,
      part: 0n,
      names: 0,
      common: 0n,
      first: 0n,
      size: 1n << idle,
    };
    let walked = settled([start], 0);
    for (const [index, step] of steps.entries()) {
      check();
      const next = step.isForced
        ? walked.map((one) => take(one, index, step))
        : walked.flatMap((one) => withAndWithout(one, index, step));
      walked = settled(merged(next), index + 1);
    }
    return merged([...finished, ...walked]);
  };
  return { steps, names, from };
}

/** Equal for requests that are walked as one from here on. */
function keyOf({ joint, asserted, isSigned }: Walked) {
  return joint.number * ASSERTED + asserted * 2 + Number(isSigned);
}

function merged(all: readonly Walked[]): readonly Walked[] {
  const found = new Map<number, Walked>();
  for (const one of all) addAsOne(found, keyOf(one), one);
  return [...found.values()];
}

/** Adds requests that reached the same nodes as others; the simplest of them represents them. */
function addAsOne<Reached extends Walked>(found: Map<number, Reached>, key: number, one: Reached) {
  const same = found.get(key);
  if (same === undefined) {
    found.set(key, one);
    return;
  }
  const isSimpler = one.names < same.names || (one.names === same.names && one.part < same.part);
  found.set(key, {
    ...(isSimpler ? one : same),
    common: same.common & one.common,
    first: same.first < one.first ? same.first : one.first,
    size: same.size + one.size,
  });
}

/**
 * How an assertion sees a part of a request: it means no request with this part, or means some, or
 * excepts some of those.
 */
export type Aspect = "not meant" | "excepted" | "meant";

/** An assertion applies where all its conditions are met, and excepts where all exceptions are. */
export function joinedAspects(one: Aspect, other: Aspect | undefined): Aspect {
  if (one === "not meant" || other === "not meant") return "not meant";
  return one === "excepted" && other === "excepted" ? "excepted" : "meant";
}

/**
 * Number of a set of names that assertions see of needs and features. Sets have one number where
 * the assertions mean the same requests by them, for all further names of a request:
 * `needs: {only: [tools]}` is settled with the first other need.
 */
type AssertedSet = number;

/** How assertions see needs, features and the families of signed reasoning. */
export type RequirementAspects = (
  steps: readonly Step[],
  families: readonly string[],
) => readonly Aspect[];

/** With more names, joining their sets takes longer than walking over them. */
const MOST_NAMES = 8;

type AssertedNames = ReturnType<typeof assertedNames>;

/**
 * The sets of names that a walk over steps collects.
 *
 * @param families of signed reasoning that a request may have; the first one is none.
 */
export function assertedNames(
  steps: readonly Step[],
  families: readonly (readonly string[])[],
  aspectsOf: RequirementAspects,
) {
  const byName = new Map(
    steps.flatMap((step) => (step.asserted === "" ? [] : [[step.asserted, step] as const])),
  );
  /** A step of each name: assertions see all steps of a name alike. */
  const examples = [...byName.values()];
  const indices = new Map([...byName.keys()].map((name, index) => [name, index]));
  /** Aspects of each set of at most {@link MOST_NAMES} names, a bit each. */
  const meanings = Array.from(
    { length: byName.size > MOST_NAMES ? 0 : 2 ** byName.size },
    (_, bits) =>
      families
        .map((signatureFamilies) =>
          aspectsOf(
            examples.filter((_step, index) => (bits & (1 << index)) !== 0),
            signatureFamilies,
          ).join(),
        )
        .join(";"),
  );
  const sets = numbered<{ readonly names: Set<number>; readonly isSettled: boolean }>();
  const next: (AssertedSet | undefined)[][] = [];
  const aspects = new Map<string, readonly Aspect[]>();
  const distinct = new Map<string, readonly Aspect[]>();

  const numberOf = (names: Set<number>): AssertedSet => {
    const bits = [...names].reduce((all, index) => all | (1 << index), 0);
    const futures = meanings.map((_meaning, others) => meanings[bits | others] ?? "");
    const key =
      futures.length === 0
        ? [...names].toSorted((left, right) => left - right).join()
        : futures.join("\n");
    return sets.numberOf(key, () => ({
      names,
      isSettled: futures.length > 0 && futures.every((future) => future === futures[0]),
    }));
  };

  return {
    none: numberOf(new Set()),
    with(set: AssertedSet, { asserted }: Step): AssertedSet {
      const index = indices.get(asserted);
      if (index === undefined) return set;
      const after = (next[set] ??= []);
      return (after[index] ??= numberOf(new Set(sets.at(set).names).add(index)));
    },
    /** Whether no further name changes the aspects of a request. */
    isSettled: (set: AssertedSet) => sets.at(set).isSettled,
    /** One object for equal aspects. */
    aspects: (set: AssertedSet, signatureFamilies: readonly string[]) =>
      remembered(aspects, `${set} ${signatureFamilies.join()}`, () => {
        const names = [...sets.at(set).names].flatMap((index) => examples[index] ?? []);
        const found = aspectsOf(names, signatureFamilies);
        return remembered(distinct, found.join(), () => found);
      }),
  };
}

/**
 * Requests that began alike, reached the same nodes after the last check, and mean the same to
 * assertions.
 */
export interface FinalState extends Walked {
  readonly ends: FinalNodes;
  readonly aspects: readonly Aspect[];
  /** Families of the simplest of them, which count among its names. */
  readonly families: readonly string[];
  readonly steps: readonly Step[];
}

interface FinalNodes {
  /** Equal for equal nodes. */
  readonly number: number;
  /** Of all sides, for each length of vectors. */
  readonly nodes: readonly (readonly NodeId[])[];
  /** Sides on which the candidates left by preferences matter. */
  readonly live: readonly boolean[];
}

/** So many lists of aspects fit beside the number of ends. */
const ASPECTS = 2 ** 26;

const NO_FAMILIES: readonly (readonly string[])[] = [[]];

/**
 * Walks, makes the last check of families and of the length of vectors, and joins requests that no
 * decision and no assertion distinguishes any more.
 *
 * @returns gives the final states of requests that begin at nodes.
 */
export function finalStates(
  sides: readonly SideWalk[],
  operation: Operation,
  { dimensions: lengths, signatureFamilies: allFamilies }: OperationUniverse,
): (nodes: readonly NodeId[], walk: ApprovalWalk) => readonly FinalState[] {
  /** By families, for each length of vectors. */
  const shapes = new Map<readonly string[], readonly LastShape[]>();
  const byEnds = new Map<string, FinalNodes>();
  /** By the nodes of a walk, which are the same object where they are the same. */
  const byNodes = new Map<readonly NodeId[], Map<readonly string[], FinalNodes>>();
  const aspectNumbers = new Map<readonly Aspect[], number>();

  const makeEnds = (nodes: readonly NodeId[], signatureFamilies: readonly string[]): FinalNodes => {
    const ends = remembered(shapes, signatureFamilies, () =>
      lengths.map((dimensions) => ({ operation, dimensions, signatureFamilies })),
    ).map((shape) => nodes.map((node, side) => sides[side]?.last(node, shape) ?? node));
    return remembered(byEnds, ends.join(";"), () => {
      const live = nodes.map((_node, side) =>
        ends.some((perSide) => sides[side]?.isDenied(perSide[side] ?? 0) !== true),
      );
      return { number: byEnds.size, nodes: ends, live };
    });
  };
  const endsOf = (nodes: readonly NodeId[], families: readonly string[]): FinalNodes => {
    const byFamilies = remembered(byNodes, nodes, () => new Map<readonly string[], FinalNodes>());
    return remembered(byFamilies, families, () => makeEnds(nodes, families));
  };

  return (nodes, { steps, names, from }) => {
    const found = new Map<number, FinalState>();
    for (const walked of from(nodes)) {
      for (const families of walked.isSigned ? allFamilies : NO_FAMILIES) {
        const ends = endsOf(walked.joint.nodes, families);
        // One object for equal lists.
        const aspects = names.aspects(walked.asserted, families);
        const number = remembered(aspectNumbers, aspects, () => aspectNumbers.size);
        addAsOne(found, ends.number * ASPECTS + number, {
          ...walked,
          ends,
          aspects,
          families,
          names: walked.names + families.length,
          steps,
        });
      }
    }
    return [...found.values()];
  };
}
