import type { Decision } from "../canon/decision.ts";
import type { Identity } from "../canon/identity.ts";
import { canonicalJson } from "../canon/json.ts";
import type { PolicySet, PolicyTime } from "../canon/policy.ts";
import type { RequestShape } from "../canon/request.ts";
import type { RoutingTable } from "../canon/table.ts";
import { decide, type Question } from "./decide.ts";
import { ANY_TIME, keyInput, timeWindow } from "./policy-input.ts";

/** Decides requests by one table and one set of policies, each class of requests once. */
export interface Decider {
  readonly table: RoutingTable;
  readonly policies: PolicySet;
  decideRequest(identity: Identity, question: Question): Decision;
}

/**
 * Classes without preferences are finite, but a table of a thousand workspaces has many; each
 * decision takes a few kilobytes.
 */
const MAXIMUM_CLASSES = 20_000;

/** Preferences have numbers and lists of the caller: one caller could fill a larger cache. */
const MAXIMUM_PREFERRED_CLASSES = 1_000;

/**
 * @example createDecider(table, policies, Date.now).decide(identity, question).outcome
 *
 * @param now gives milliseconds since the epoch; called only where a policy reads the time.
 */
export function createDecider(
  table: RoutingTable,
  policies: PolicySet,
  now: () => number,
): Decider {
  const windowNow = policies.readsTime ? windowClock(policies.zones, now) : () => NO_WINDOW;
  const identityClasses = new WeakMap<Identity, string>();
  const plain = new Map<string, Decision>();
  const preferred = new Map<string, Decision>();

  const identityClass = (identity: Identity): string => {
    const cached = identityClasses.get(identity);
    if (cached !== undefined) return cached;
    const { routes = null, operations = null } = identity.narrowed ?? {};
    const identityKey = JSON.stringify([
      identity.workspace,
      keyInput(table, identity),
      routes,
      operations,
    ]);
    identityClasses.set(identity, identityKey);
    return identityKey;
  };

  return {
    table,
    policies,
    decideRequest(identity, question) {
      const window = windowNow();
      const budget = policies.readsBudget ? `${question.budget ?? ""}\n` : "";
      const key = `${identityClass(identity)}\n${window.line}${budget}${questionClass(question)}`;
      const decisions = question.preferences === null ? plain : preferred;
      const cached = decisions.get(key);
      if (cached !== undefined) return cached;
      const decision = decide(table, policies, identity, question, window.time);
      if (isCacheable(decision)) {
        const limit = question.preferences === null ? MAXIMUM_CLASSES : MAXIMUM_PREFERRED_CLASSES;
        if (decisions.size >= limit) decisions.clear();
        decisions.set(key, decision);
      }
      return decision;
    },
  };
}

/**
 * Unknown names are the caller's text, of any length: keys decision of them would fill the memory.
 */
function isCacheable(decision: Decision) {
  return (
    decision.route !== "" &&
    !(decision.outcome === "deny" && decision.denial.reason === "unknown_preference")
  );
}

interface Window {
  readonly time: PolicyTime;
  /** The same for equal times. */
  readonly line: string;
}

const NO_WINDOW: Window = { time: ANY_TIME, line: "" };

/** Works out the window once a minute: local time costs microseconds for each zone. */
function windowClock(zones: readonly string[], now: () => number): () => Window {
  let current = { minute: Number.NaN, window: NO_WINDOW };
  return () => {
    const at = now();
    const minute = Math.floor(at / 60_000);
    if (minute === current.minute) return current.window;
    const time = timeWindow(at, zones);
    current = { minute, window: { time, line: `${JSON.stringify(time)}\n` } };
    return current.window;
  };
}

/** All members of a question except the budget; equal for equal questions. */
function questionClass({ model, shape, preferences }: Question): string {
  const requested = preferences === null ? "" : canonicalJson(preferences);
  return `${model}\n${shapeClass(shape)}\n${requested}`;
}

function shapeClass(shape: RequestShape): string {
  const { needs, features, signatureFamilies } = shape;
  const lists = `${needs.join()}|${features.join()}|${signatureFamilies.join()}`;
  const size = `${shape.context}|${shape.maxOutput}|${shape.reasoningEffort}|${shape.dimensions ?? ""}`;
  return `${shape.operation}|${shape.stream ? "stream" : ""}|${lists}|${size}`;
}
