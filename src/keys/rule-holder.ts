import { hash } from "node:crypto";
import type { ExchangeGrant } from "../canon/credentials/service-key.ts";
import type { Identity } from "../canon/identity.ts";
import { canonicalJson } from "../canon/json.ts";
import { ruleOfCaller, workloadCaller, type WorkloadIdentity, type WorkloadRule } from "../canon/workload-identity.ts";

/** A rule as what its tokens are narrowed from, as a key is for its own. */
export interface RuleHolder {
  readonly identity: Identity;
  readonly exchange: ExchangeGrant;
  /** Of the rule and its issuer: a token of a rule that has changed since is refused. Hexadecimal. */
  readonly digest: string;
}

/** Rules are rows of frozen tables. */
const holders = new WeakMap<WorkloadRule, RuleHolder>();

/** The rule of a caller's id; `null` where the table has none. */
export function ruleHolder(workloads: WorkloadIdentity | undefined, callerId: string): RuleHolder | null {
  const id = ruleOfCaller(callerId);
  if (workloads === undefined || id === null || !Object.hasOwn(workloads.rules, id)) return null;
  const rule = workloads.rules[id];
  if (rule === undefined) return null;
  const known = holders.get(rule);
  if (known !== undefined) return known;
  const holder = makeHolder(workloads, rule);
  holders.set(rule, holder);
  return holder;
}

function makeHolder({ issuers }: WorkloadIdentity, rule: WorkloadRule): RuleHolder {
  const { id, workspace, scopes, environment, workload, owner, labels, operations, routes, lifetime } = rule;
  const identity: Identity = Object.freeze({
    workspace,
    keyId: workloadCaller(id),
    scopes: new Set(scopes),
    environment,
    workload,
    labels,
    ...(owner !== null && { owner }),
    expiresAt: Number.MAX_SAFE_INTEGER,
  });
  return {
    identity,
    exchange: { maximumLifetime: lifetime, operations, routes, origins: null },
    digest: hash("sha256", canonicalJson([rule, issuers[rule.issuedBy] ?? null]), "hex"),
  };
}
