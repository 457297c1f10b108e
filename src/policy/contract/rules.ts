import type { ConstraintContract, PolicyData } from "../../canon/policy.ts";
import { nearestName } from "../../canon/nearest-name.ts";
import {
  finding,
  locationOf,
  type Location,
  type PolicyCode,
  type PolicyDiagnostic,
} from "../codes.ts";
import { isPolicyZone, type CompiledPolicy } from "../compiled.ts";
import type { LocatedContract } from "./contract.ts";
import type { PolicyFile } from "./sources.ts";
import type { ModuleFacts, Position, ReferenceFacts, RuleFacts } from "../toolchain/protocol.ts";

/** Members of `data.approved`; a member that the type has and this list lacks does not compile. */
const APPROVED: Readonly<Record<keyof PolicyData["approved"], true>> = {
  regions: true,
  providers: true,
  routes: true,
  capabilities: true,
  dimensions: true,
};

const TEXT =
  "A policy makes no text: declare reasons in METADATA, and set reason.<constraint> to one of them.";
const TIME =
  'The time of the request is in input.time (UTC), and in input.local_time["Europe/Berlin"] for any zone.';
const IDENTITY =
  "The caller is verified already: read input.workspace.labels and input.key.labels.";
const NETWORK =
  "A policy calls nothing: put facts into labels of keys and workspaces, or into routes.yaml.";

/** Replacements of refused built-ins; the first form that fits. */
const REPLACEMENTS: readonly (readonly [RegExp, string])[] = [
  [
    /^(?:sprintf|internal\.template_string|strings\.render_template|json\.marshal_with_options|yaml\.marshal)$/,
    TEXT,
  ],
  [/^trace$/, "`signalbox explain` prints how a request is decided."],
  [/^re_match$/, "Write regex.match(pattern, text)."],
  [/^strings\.any_prefix_match$/, "Write `some prefix in […]` and startswith(text, prefix)."],
  [/^strings\.any_suffix_match$/, "Write `some suffix in […]` and endswith(text, suffix)."],
  [/^(?:any|all)$/, "Write `some x in […]` for any, and `every x in […] { … }` for all."],
  [/^set_diff$/, "Write left - right."],
  [/^cast_/, "Leave the cast out: types are checked when the policy is compiled."],
  [/^numbers\.range/, "Write the numbers out: [1, 2, 3]."],
  [/^object\.subset$/, "Compare the members that matter, or sets: count(small - large) == 0."],
  [
    /^(?:regex\.|glob\.quote_meta)/,
    "Write regex.match(pattern, text) or glob.match(pattern, [], text).",
  ],
  [
    /^(?:indexof_n|strings\.)/,
    "Write indexof(text, part), contains(text, part) or split(text, separator).",
  ],
  [/^net\.cidr_/, "Write net.cidr_contains(range, address) or net.cidr_intersects(range, range)."],
  [/^semver\./, 'Write split(version, ".") and to_number of its parts.'],
  [/^rego\.metadata\./, "Write the value as a rule, such as `limit := 3`."],
  [/^time\./, TIME],
  [/^(?:io\.jwt\.|crypto\.)/, IDENTITY],
  [/^(?:http\.|net\.lookup|providers\.)/, NETWORK],
  [/^opa\.runtime$/, "Write values that differ by environment into an overlay of routes.yaml."],
  [
    /^(?:rand\.|uuid\.)/,
    "Equal requests get equal decisions: shares of traffic are `weights` of a route.",
  ],
  [
    /^(?:base64url|hex|urlquery)\./,
    "Compare the encoded text itself, or write base64url.encode(text).",
  ],
  [/^uri\./, 'Write startswith(text, "https://host/"), or split(text, "/") and compare its parts.'],
  [/^units\./, "Write the number in its base unit: 1048576 for 1Mi."],
  [/^yaml\./, "Write facts as labels of keys and workspaces, or json.unmarshal(text) of JSON."],
  [/^json\.\w+_schema$/, "Check members alone: is_string(x), count(object.keys(x) - names) == 0."],
  [/^json\.patch$/, "Write object.union(left, right) or json.remove(object, paths)."],
  [/^graph\./, "Write graph.reachable(graph, roots)."],
  [
    /^(?:graphql|rego)\./,
    "A policy reads no source text: compare members of `input`, which docs/policies.md lists.",
  ],
  [
    /^(?:internal\.test_case|test\.sleep)$/,
    "Only test runners have it: write a rule whose name begins with test_.",
  ],
];

/**
 * Calls and data that a module may use besides its input. Tests may also replace data, and call
 * their policy.
 */
export function checkReferences(
  file: PolicyFile,
  facts: ModuleFacts,
  libraries: ReadonlyMap<string, ModuleFacts>,
): readonly PolicyDiagnostic[] {
  const diagnostics: PolicyDiagnostic[] = [];
  const report = (code: PolicyCode, position: Position, message: string, hint?: string) => {
    diagnostics.push(finding(code, locationOf(facts.path, position), message, hint));
  };
  for (const builtin of facts.builtins) {
    const why = builtin.nondeterministic ? "is not deterministic" : "is not available to policies";
    const hint = REPLACEMENTS.find(([form]) => form.test(builtin.name))?.[1];
    report("POLICY_BUILTIN", builtin, `the built-in ${builtin.name} ${why}`, hint);
  }
  if (file.kind === "test") return diagnostics;
  for (const location of facts.withs)
    report("POLICY_WITH", location, "`with` is used outside of a test");
  for (const reference of facts.references) {
    if (reference.root === "input") continue;
    const problem = dataProblem(reference.path, file, libraries);
    if (problem !== null) report(problem.code, reference, problem.message, problem.hint);
  }
  return diagnostics;
}

/** A zone has to be named in the source: the host gives a request the zones that it finds there. */
export function checkZones({
  path: file,
  package_at: whole,
  references,
  reads,
}: ModuleFacts): readonly PolicyDiagnostic[] {
  const found = references.filter(({ root, path }) => root === "input" && path[0] === "local_time");
  const unknown = found.flatMap(({ path: [, zone], ...position }) => {
    if (typeof zone !== "string" || isPolicyZone(zone)) return [];
    const nearest = nearestZone(zone);
    const hint = nearest === null ? undefined : `Did you mean ${nearest}?`;
    const location = locationOf(file, position);
    return [finding("POLICY_TIME_ZONE", location, "there is no time zone of this name", hint)];
  });
  if (reads?.includes("input.local_time") !== true) return unknown;
  const location = locationOf(file, found[0] ?? whole);
  const message = "input.local_time is read without the name of a time zone";
  return [...unknown, finding("POLICY_TIME_ZONE", location, message)];
}

/** Also of a name without its region, such as `Berlin`. */
function nearestZone(zone: string): string | null {
  const zones = Intl.supportedValuesOf("timeZone");
  return zones.find((name) => name.endsWith(`/${zone}`)) ?? nearestName(zone, zones);
}

interface Problem {
  readonly code: PolicyCode;
  readonly message: string;
  readonly hint?: string;
}

function dataProblem(
  path: ReferenceFacts["path"],
  file: PolicyFile,
  libraries: ReadonlyMap<string, ModuleFacts>,
): Problem | null {
  const [root, second] = path;
  const shown = ["data", ...path.map((step) => step ?? "[…]")].join(".");
  if (root === "regions") return null;
  if (root === "approved") {
    if (typeof second !== "string" || Object.hasOwn(APPROVED, second)) return null;
    const hint = `It has ${Object.keys(APPROVED).join(", ")}.`;
    return { code: "POLICY_DATA_PATH", message: `data.approved has no member ${second}`, hint };
  }
  if (root !== "signalbox" || path.length < 3) {
    const hint =
      "Facts about callers are labels of keys and workspaces; data has regions and approved.";
    return { code: "POLICY_DATA_PATH", message: `${shown} may not be read`, hint };
  }
  const [, , module, rule] = path;
  if (file.package.every((step, index) => step === path[index])) return null;
  if (second !== "lib")
    return { code: "POLICY_DATA_PATH", message: `${shown} belongs to another policy` };
  if (typeof module !== "string")
    return { code: "POLICY_DATA_PATH", message: `${shown} chooses a library at run time` };
  const library = libraries.get(module);
  if (library === undefined)
    return { code: "POLICY_LIBRARY_UNKNOWN", message: `${shown}: there is no such library` };
  if (typeof rule !== "string") {
    return {
      code: "POLICY_DATA_PATH",
      message: `${shown} reads a whole library`,
      hint: "Name the rule.",
    };
  }
  if (library.rules.some(({ path: head }) => head[0] === rule)) return null;
  return { code: "POLICY_LIBRARY_UNKNOWN", message: `the library ${module} has no rule ${rule}` };
}

/** Libraries that a module names, sorted. */
export function librariesOf(facts: ModuleFacts): readonly string[] {
  const names = new Set<string>();
  for (const { root, path } of facts.references) {
    const [first, second, name] = path;
    if (root === "data" && first === "signalbox" && second === "lib" && typeof name === "string")
      names.add(name);
  }
  return [...names].toSorted();
}

/**
 * Holds the `pass` and `reason` rules of a policy to its contract: everything declared can pass,
 * and there are no other rules.
 */
export function checkRules(
  { contract, constraintAt }: LocatedContract,
  facts: ModuleFacts,
): readonly PolicyDiagnostic[] {
  const diagnostics: PolicyDiagnostic[] = [];
  const constraints = new Map(
    contract.constraints.map((constraint) => [constraint.name, constraint]),
  );
  const passing = new Map<string, RuleFacts[]>();
  for (const rule of facts.rules) {
    const [group, name] = rule.path;
    if (group !== "pass" && group !== "reason") continue;
    const location = locationOf(facts.path, rule);
    const report = (code: PolicyCode, message: string, hint?: string) => {
      diagnostics.push(finding(code, location, message, hint));
    };
    const constraint = typeof name === "string" ? constraints.get(name) : undefined;
    if (typeof name !== "string") {
      const message = `a ${group} rule must name its constraint in the source`;
      report("POLICY_RULE_SHAPE", message, `Write ${group}.<constraint>.`);
    } else if (constraint === undefined)
      report("POLICY_CONSTRAINT_UNDECLARED", `METADATA declares no constraint ${name}`);
    else if (group === "pass") {
      passing.set(name, [...(passing.get(name) ?? []), rule]);
      diagnostics.push(...passFindings(constraint, rule, location));
    } else diagnostics.push(...reasonFindings(constraint, rule, location, facts.path));
  }
  for (const { name } of contract.constraints) {
    const rules = passing.get(name);
    if (rules === undefined) {
      diagnostics.push(
        finding("POLICY_CONSTRAINT_WITHOUT_RULE", constraintAt(name), `no rule pass.${name}`),
      );
    } else if (!rules.some(canPass)) {
      const [first] = rules;
      const location = first === undefined ? constraintAt(name) : locationOf(facts.path, first);
      diagnostics.push(
        finding("POLICY_CONSTRAINT_NEVER_PASSES", location, `pass.${name} is never true`),
      );
    }
  }
  return diagnostics;
}

/** Constraints that have a reason rule, sorted. */
export function reasonedConstraints(
  { contract }: LocatedContract,
  { rules }: ModuleFacts,
): readonly string[] {
  return contract.constraints
    .map(({ name }) => name)
    .filter((name) => rules.some(({ path }) => path[0] === "reason" && path[1] === name));
}

/** The position of the first pass rule of each constraint; none for a constraint without. */
export function passLocations(
  { contract }: LocatedContract,
  { rules }: ModuleFacts,
): CompiledPolicy["locations"] {
  return Object.fromEntries(
    contract.constraints.flatMap(({ name }) => {
      const rule = rules.find(({ path }) => path[0] === "pass" && path[1] === name);
      return rule === undefined ? [] : [[name, { line: rule.row, column: rule.col }]];
    }),
  );
}

function passFindings(
  { name, effect }: ConstraintContract,
  rule: RuleFacts,
  location: Location,
): PolicyDiagnostic[] {
  const kind = effect === "gate" ? "value" : "set";
  if (rule.path.length !== 2 || rule.kind !== kind) {
    const shape =
      effect === "gate" ? `pass.${name} if …` : `pass.${name} contains candidate.id if …`;
    const message = `pass.${name} has the wrong form for the effect ${effect}`;
    return [finding("POLICY_RULE_SHAPE", location, message, `Write ${shape}`)];
  }
  if (rule.default && rule.results.some(({ constant, value }) => !constant || value !== false)) {
    return [finding("POLICY_DEFAULT_PASS", location, `the default of pass.${name} is not false`)];
  }
  return [];
}

/**
 * `reason.<constraint>` gives a reason, `reason.<constraint>[candidate.id]` one for each candidate.
 */
function reasonFindings(
  { name, reasons }: ConstraintContract,
  rule: RuleFacts,
  location: Location,
  file: string,
): PolicyDiagnostic[] {
  if (rule.path.length > 3 || rule.kind !== "value") {
    const hint = `Write reason.${name} := "…" if …, or reason.${name}[candidate.id] := "…" if …`;
    return [
      finding(
        "POLICY_RULE_SHAPE",
        location,
        `reason.${name} has a form that a reason rule cannot have`,
        hint,
      ),
    ];
  }
  return rule.results
    .filter(
      ({ constant, value }) =>
        constant && typeof value !== "object" && !reasons.some((reason) => reason === value),
    )
    .map((result) => {
      const message = `reason.${name} gives a reason that METADATA does not list`;
      const hint = `Its reasons are ${reasons.join(", ")}.`;
      return finding("POLICY_REASON_UNDECLARED", locationOf(file, result), message, hint);
    });
}

/** Whether any branch can hold with anything but a value that is written and does not pass. */
function canPass({ kind, results }: RuleFacts) {
  return results.some(({ constant, value }) => kind === "set" || !constant || value === true);
}

/**
 * Holds the `waive` rules of a policy to its contract. An obligation needs no rule: it applies
 * unless a rule waives it, so that whatever is undefined or fails leaves it in force.
 */
export function checkWaivers(
  { contract }: LocatedContract,
  facts: ModuleFacts,
): readonly PolicyDiagnostic[] {
  const declared = new Set(contract.obligations.map(({ name }) => name));
  return facts.rules.flatMap(
    ({ path: [group, name, ...deeper], kind, default: isDefault, results, row, col }) => {
      if (group !== "waive") return [];
      const location = locationOf(facts.path, { row, col });
      if (typeof name !== "string") {
        const message = "a waive rule must name its obligation in the source";
        return [finding("POLICY_WAIVE_SHAPE", location, message)];
      }
      if (!declared.has(name)) {
        return [
          finding(
            "POLICY_OBLIGATION_UNDECLARED",
            location,
            `METADATA declares no obligation ${name}`,
          ),
        ];
      }
      const valueThatWaivesNothing = results.some(
        ({ constant, value }) => constant && typeof value !== "boolean",
      );
      if (deeper.length > 0 || kind !== "value" || valueThatWaivesNothing) {
        const hint = `Write waive.${name} if …`;
        return [
          finding(
            "POLICY_WAIVE_SHAPE",
            location,
            `waive.${name} has a form that waives nothing`,
            hint,
          ),
        ];
      }
      if (isDefault && results.some(({ constant, value }) => !constant || value !== false)) {
        return [
          finding("POLICY_DEFAULT_WAIVE", location, `the default of waive.${name} is not false`),
        ];
      }
      return [];
    },
  );
}
