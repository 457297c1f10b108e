import { remembered } from "../remembered.ts";
import { REASONS } from "../../canon/reasons.ts";
import type { Path } from "../../compile/authored/tree.ts";
import type { ReportOf } from "../../compile/findings/findings.ts";
import { quote, suggest } from "../../compile/authored/literal-secrets.ts";
import type { OfSides } from "../sample-request.ts";
import type {
  CaseRequest,
  DenialSelector,
  EndpointSelector,
  RequestSelector,
  SetCondition,
} from "./schema-selectors.ts";
import type { CaseExpectation } from "./schema.ts";
import type { AssertionCode } from "./codes.ts";
import { NO_FAMILY } from "../../canon/generate/signature.ts";
import type { RoutingTable } from "../../canon/table.ts";
import type { AssertionSide } from "./assertion.ts";

/** Denials by the table itself; what they are given as reasons is in `canon/reasons.ts`. */
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
export class NameCheck {
  readonly #known: OfSides<KnownNames>;
  readonly #report: ReportOf<AssertionCode>;

  constructor(known: OfSides<KnownNames>, report: ReportOf<AssertionCode>) {
    this.#known = known;
    this.#report = report;
  }

  /** @param either whether names that only base has are valid here. */
  selector(
    selector: RequestSelector | EndpointSelector | undefined,
    path: Path,
    either: boolean,
  ): void {
    for (const [member, condition] of Object.entries(selector ?? {})) {
      if (!isNameKind(member)) continue;
      for (const { name, at } of namesOf(condition, [...path, member]))
        this.#name(member, name, at, either);
    }
  }

  denial(denial: DenialSelector | undefined, path: Path): void {
    const { contracts } = this.#known.head;
    if (denial === undefined || contracts === null) return;
    const { policy, constraint, reason } = denial;
    const named = contracts.filter(({ id }) => policy === undefined || id === policy);
    const byTable = policy === undefined || TABLE_DENIALS.includes(policy);
    const policies = [...contracts.map(({ id }) => id), ...TABLE_DENIALS];
    if (policy !== undefined && !policies.includes(policy)) {
      this.#unknown("policy", policy, [...path, "policy"], policies);
      return;
    }
    const constraints = named.flatMap((contract) => contract.constraints);
    // The table's own constraints are many and are nowhere listed, so only those of policies are
    // looked up.
    if (
      constraint !== undefined &&
      !byTable &&
      !constraints.some(({ name }) => name === constraint)
    ) {
      const names = constraints.map(({ name }) => name);
      this.#unknown("constraint", constraint, [...path, "constraint"], names);
      return;
    }
    const selected = constraints.filter(
      ({ name }) => byTable || constraint === undefined || name === constraint,
    );
    const reasons = selected.flatMap((each) => each.reasons);
    const all = [...reasons, ...UNDECLARED_REASONS, ...(byTable ? Object.keys(REASONS) : [])];
    if (reason !== undefined && !all.includes(reason))
      this.#unknown("reason", reason, [...path, "reason"], all);
  }

  request(request: CaseRequest, path: Path): void {
    const {
      workspace,
      model,
      environment,
      workload,
      owner,
      key_labels,
      signature_families,
      dimensions,
    } = request;
    const one = (member: string, kind: NameKind, name: string | undefined): void => {
      if (name !== undefined) this.#name(kind, name, [...path, member], false);
    };
    one("workspace", "workspaces", workspace);
    one("model", "routes", model);
    one("environment", "environments", environment);
    one("workload", "workloads", workload);
    one("owner", "owners", owner);
    one("dimensions", "dimensions", dimensions?.toString());
    this.#list("key_labels", key_labels, path, "key_labels");
    this.#list("signature_families", signature_families, path, "signature_families");
    for (const member of ["only", "ignore", "order"] as const)
      this.#list("providers", request[member], path, member);
    this.#list("regions", request.region, path, "region");
  }

  expectation({ plan, primary, contains, lacks, denied_by }: CaseExpectation, path: Path): void {
    this.#list("endpoints", plan, path, "plan");
    this.#list("endpoints", contains, path, "contains");
    this.#list("endpoints", lacks, path, "lacks");
    if (primary !== undefined) this.#name("endpoints", primary, [...path, "primary"], false);
    this.denial(denied_by, [...path, "denied_by"]);
  }

  /**
   * Subjects that a coverage gate leaves out: `policy/constraint`, `policy/constraint/REASON`, a
   * route, `route → endpoint`.
   */
  covered(subject: string, path: Path): void {
    const { contracts } = this.#known.head;
    const declared = (contracts ?? []).flatMap(({ id, constraints }) =>
      constraints.flatMap(({ name, reasons }) => [
        `${id}/${name}`,
        ...reasons.map((reason) => `${id}/${name}/${reason}`),
      ]),
    );
    const known = [...this.#known.head.of("routes"), ...this.#known.head.edges, ...declared];
    if (known.includes(subject) || (contracts === null && subject.includes("/"))) return;
    this.#unknown("subject of coverage", subject, path, known);
  }

  #list(kind: NameKind, names: readonly string[] | undefined, path: Path, member: string): void {
    for (const [index, name] of (names ?? []).entries())
      this.#name(kind, name, [...path, member, index], false);
  }

  #name(kind: NameKind, name: string, path: Path, either: boolean): void {
    const head = this.#known.head.of(kind);
    const base = this.#known.base.of(kind);
    if (head.has(name) || (either && base.has(name))) return;
    if (base.has(name)) {
      const hint = `remove it: ${quote(name)} is in base only`;
      this.#report.value(
        "ASSERTION_WORD_GONE",
        path,
        `head has no ${NAME_TITLES[kind]} ${quote(name)}`,
        hint,
      );
    } else {
      this.#unknown(NAME_TITLES[kind], name, path, either ? [...head, ...base] : head);
    }
  }

  #unknown(what: string, name: string, path: Path, known: Iterable<string>): void {
    this.#report.value(
      "ASSERTION_UNKNOWN_WORD",
      path,
      `there is no ${what} ${quote(name)}`,
      suggest(name, known),
    );
  }
}

/** Every name of a list, or of all lists of a condition on a set. */
function namesOf(
  condition: SetCondition | readonly (string | number)[] | boolean | string | undefined,
  path: Path,
): readonly { readonly name: string; readonly at: Path }[] {
  if (typeof condition !== "object") return [];
  const lists = isList(condition)
    ? [{ list: condition, at: path }]
    : Object.entries(condition).map(([name, list]) => ({ list, at: [...path, name] }));
  return lists.flatMap(({ list, at }) =>
    list.map((name, index) => ({ name: String(name), at: [...at, index] })),
  );
}

function isList(condition: object): condition is readonly (string | number)[] {
  return Array.isArray(condition);
}

/** Lists of an assertions file whose names come from routes.yaml, and how to read them there. */
const TABLE_NAMES = {
  workspaces: ({ workspaces }) => Object.keys(workspaces),
  tiers: ({ workspaces }) => Object.values(workspaces).map(({ tier }) => tier),
  labels: ({ workspaces, vocabulary }) => [
    ...vocabulary.labels,
    ...Object.values(workspaces).flatMap(({ labels }) => labels),
  ],
  routes: ({ routes }) => Object.keys(routes),
  environments: ({ vocabulary }) => [...vocabulary.environments, "other"],
  workloads: ({ vocabulary }) => [...vocabulary.workloads, "other"],
  owners: ({ vocabulary }) => [...(vocabulary.owners ?? []), "other"],
  key_labels: ({ vocabulary }) => vocabulary.labels,
  signature_families: ({ models }) =>
    Object.values(models).map(({ signatureFamily }) => signatureFamily ?? NO_FAMILY),
  dimensions: ({ models }) => [
    "0",
    ...Object.values(models).flatMap(({ dimensions }) => dimensions.map(String)),
  ],
  providers: ({ providers }) => Object.keys(providers),
  regions: (table) => [
    ...Object.entries(table.regionGroups).flatMap(([group, regions]) => [group, ...regions]),
    ...Object.values(table.providers).map(({ region }) => region),
    ...Object.values(table.endpoints).map(({ region }) => region),
  ],
  models: ({ models }) => Object.keys(models),
  endpoints: ({ endpoints }) => Object.keys(endpoints),
} as const satisfies Record<string, (table: RoutingTable) => readonly string[]>;

type NameKind = keyof typeof TABLE_NAMES;

/** The title of one name of a list, for messages. */
const NAME_TITLES: Readonly<Record<NameKind, string>> = {
  workspaces: "workspace",
  tiers: "tier",
  labels: "workspace label",
  routes: "route",
  environments: "environment",
  workloads: "workload",
  owners: "owner",
  key_labels: "key label",
  signature_families: "signature family",
  dimensions: "vector length",
  providers: "provider",
  regions: "region",
  models: "model",
  endpoints: "endpoint",
};

function isNameKind(member: string): member is NameKind {
  return Object.hasOwn(TABLE_NAMES, member);
}

/** The names of one side, read once for a whole file. */
export class KnownNames {
  readonly #side: AssertionSide;
  readonly #names = new Map<NameKind, ReadonlySet<string>>();

  constructor(side: AssertionSide) {
    this.#side = side;
  }

  of(kind: NameKind): ReadonlySet<string> {
    return remembered(this.#names, kind, () => new Set(TABLE_NAMES[kind](this.#side.table)));
  }

  /** `null` where the policies are unknown. */
  get contracts(): AssertionSide["contracts"] {
    return this.#side.contracts;
  }

  /** `route → endpoint` for every fallback of every route. */
  get edges(): readonly string[] {
    return Object.values(this.#side.table.routes).flatMap(({ id, fallbacks }) =>
      fallbacks.map((endpoint) => `${id} → ${endpoint}`),
    );
  }
}
