import { remembered } from "../remembered.ts";
import { REASONS } from "../../canon/reasons.ts";
import type { Path } from "../../compile/authored/tree.ts";
import type { ReportOf } from "../../compile/findings/findings.ts";
import { quote, suggest } from "../../compile/authored/literal-secrets.ts";
import type { OfSides } from "../sample-request.ts";
import {
  type CaseRequest,
  type DenialSelector,
  type EndpointSelector,
  type RequestSelector,
  type CaseExpectation,
  type AssertionSide,
} from "./schema.ts";
import type { AssertionCode } from "./codes.ts";
import type { RoutingTable } from "../../canon/table.ts";
import { rowOf } from "../table-rows.ts";
import { NAMES } from "../space/universe.ts";

/** Policies of denials by the table itself; their reasons are in `canon/reasons.ts`. */
const TABLE_DENIALS: readonly string[] = ["approvals", "preferences"];
/**
 * The reason of a constraint that could not be evaluated, besides those that its policy declares.
 */
const UNDECLARED_REASONS: readonly string[] = [
  "EVALUATION_INDETERMINATE",
  "NO_CANDIDATE_PASSES",
  "POLICY_TIMEOUT",
];

/** Looks up every name of a file: an unknown one would make an assertion that cannot fail. */
export function nameCheck(sides: OfSides<AssertionSide>, report: ReportOf<AssertionCode>) {
  const { contracts, table } = sides.head;
  const [inBase, inHead] = [knownNames(sides.base.table), knownNames(table)];

  const unknown = (title: string, name: string, path: Path, candidates: Iterable<string>) => {
    const message = `there is no ${title} ${quote(name)}`;
    report.value("ASSERTION_UNKNOWN_WORD", path, message, suggest(name, candidates));
  };

  const check = (kind: NameKind, name: string, path: Path, either: boolean) => {
    const [base, head] = [inBase(kind), inHead(kind)];
    if (head.has(name) || (either && base.has(name))) return;
    const [title] = TABLE_NAMES[kind];
    if (!base.has(name)) unknown(title, name, path, either ? [...head, ...base] : head);
    else {
      const message = `head has no ${title} ${quote(name)}`;
      const hint = `remove it: ${quote(name)} is in base only`;
      report.value("ASSERTION_WORD_GONE", path, message, hint);
    }
  };

  return {
    /**
     * The names of a selector, of a case's request or of its expectation.
     *
     * @param either whether names that only base has are valid here.
     */
    row(row: Row | undefined, path: Path, either = false) {
      for (const [member, value] of Object.entries(row ?? {})) {
        const kind = nameKind(member);
        if (kind === undefined) continue;
        for (const { name, at } of namesOf(value, [...path, member])) check(kind, name, at, either);
      }
    },

    denial(denial: DenialSelector | undefined, path: Path) {
      if (denial === undefined || contracts === null) return;
      const { policy, constraint, reason } = denial;
      const matching = contracts.filter(({ id }) => policy === undefined || id === policy);
      const byTable = policy === undefined || TABLE_DENIALS.includes(policy);
      const policies = [...contracts.map(({ id }) => id), ...TABLE_DENIALS];
      if (policy !== undefined && !policies.includes(policy))
        return unknown("policy", policy, [...path, "policy"], policies);
      const constraints = matching.flatMap((contract) => contract.constraints);
      const names = constraints.map(({ name }) => name);
      // The table's own constraints are many and are nowhere listed, so only those of policies are
      // looked up.
      if (constraint !== undefined && !byTable && !names.includes(constraint))
        return unknown("constraint", constraint, [...path, "constraint"], names);
      const selected = constraints.filter(
        ({ name }) => byTable || constraint === undefined || name === constraint,
      );
      const reasons = selected.flatMap((each) => each.reasons);
      const all = [...reasons, ...UNDECLARED_REASONS, ...(byTable ? Object.keys(REASONS) : [])];
      if (reason !== undefined && !all.includes(reason))
        unknown("reason", reason, [...path, "reason"], all);
    },

    /**
     * Subjects that a coverage gate leaves out: `policy/constraint`, `policy/constraint/REASON`, a
     * route, `route → endpoint`.
     */
    covered(subject: string, path: Path) {
      const declared = (contracts ?? []).flatMap(({ id, constraints }) =>
        constraints.flatMap(({ name, reasons }) => [
          `${id}/${name}`,
          ...reasons.map((reason) => `${id}/${name}/${reason}`),
        ]),
      );
      const edges = Object.values(table.routes).flatMap(({ id, fallbacks }) =>
        fallbacks.map((endpoint) => `${id} → ${endpoint}`),
      );
      const subjects = [...inHead("routes"), ...edges, ...declared];
      if (subjects.includes(subject) || (contracts === null && subject.includes("/"))) return;
      unknown("subject of coverage", subject, path, subjects);
    },
  };
}

/** The names of one side, each kind read once for a whole file. */
function knownNames(table: RoutingTable) {
  const names = new Map<NameKind, ReadonlySet<string>>();
  return (kind: NameKind) => remembered(names, kind, () => new Set(TABLE_NAMES[kind][1](table)));
}

/** A part of the file with names under its keys. */
type Row = RequestSelector | EndpointSelector | CaseRequest | CaseExpectation;

/** Every name of a value, of a list, or of all lists of a condition on a set. */
function namesOf(
  value: unknown,
  path: Path,
): readonly { readonly name: string; readonly at: Path }[] {
  if (typeof value !== "object" || value === null) return [{ name: String(value), at: path }];
  const items: readonly (readonly [string, unknown])[] = Object.entries(value);
  return items.flatMap(([key, item]) => namesOf(item, [...path, key]));
}

/**
 * Lists of an assertions file whose names come from routes.yaml: the title of one name, for
 * messages, and how to read all of them.
 */
const TABLE_NAMES = {
  workspaces: ["workspace", NAMES.workspaces],
  tiers: ["tier", NAMES.tiers],
  labels: ["workspace label", (table) => [...table.vocabulary.labels, ...NAMES.labels(table)]],
  routes: ["route", NAMES.routes],
  environments: ["environment", ({ vocabulary }) => [...vocabulary.environments, "other"]],
  workloads: ["workload", ({ vocabulary }) => [...vocabulary.workloads, "other"]],
  owners: ["owner", ({ vocabulary }) => [...(vocabulary.owners ?? []), "other"]],
  key_labels: ["key label", ({ vocabulary }) => vocabulary.labels],
  signature_families: ["signature family", NAMES.signature_families],
  dimensions: [
    "vector length",
    ({ models }) => [
      "0",
      ...Object.values(models).flatMap(({ dimensions }) => dimensions.map(String)),
    ],
  ],
  providers: ["provider", NAMES.providers],
  regions: ["region", (table) => [...NAMES.region_groups(table), ...NAMES.regions(table)]],
  models: ["model", NAMES.models],
  endpoints: ["endpoint", NAMES.endpoints],
} as const satisfies Record<
  string,
  readonly [title: string, of: (table: RoutingTable) => readonly string[]]
>;

type NameKind = keyof typeof TABLE_NAMES;

function isNameKind(member: string): member is NameKind {
  return Object.hasOwn(TABLE_NAMES, member);
}

/** Members of a case with names of a kind that other members have a list of. */
const CASE_NAMES = {
  workspace: "workspaces",
  model: "routes",
  environment: "environments",
  workload: "workloads",
  owner: "owners",
  only: "providers",
  ignore: "providers",
  order: "providers",
  region: "regions",
  plan: "endpoints",
  primary: "endpoints",
  contains: "endpoints",
  lacks: "endpoints",
} as const satisfies Readonly<Record<string, NameKind>>;

/** The kind of the names under a member of the file; `undefined` for other members. */
export function nameKind(member: string): NameKind | undefined {
  return isNameKind(member) ? member : rowOf<NameKind>(CASE_NAMES, member);
}
