import { list, object, ref, type Schema, refs, text } from "../../compile/authored/schema.ts";
import { CHANGE_KINDS } from "../change-kind.ts";
import { VIEWS } from "../sample-request.ts";
import { SELECTOR_DEFINITIONS, type Authored, choice, given } from "./schema-selectors.ts";

/** `$id` of the schema; a name, not an address to fetch. */
const SCHEMA_ID = "urn:signalbox:assertions:1";

const line = (description: string) =>
  ({
    ...text("^[^\\u0000-\\u001f\\u007f]{1,200}$", "one line of at most 200 characters"),
    description,
  }) as const;

const outcome = choice("Whether the request is routed or denied.", ["route", "deny"]);

const waiver = object(
  "A failure that is accepted for a while: WAIVED until the end of the day, FAIL afterwards.",
  {
    until: {
      ...text("^[0-9]{4}-[0-9]{2}-[0-9]{2}$", "a date such as `2026-12-31`"),
      description: "Last day of the waiver, in UTC.",
    },
    reason: line("Why the failure is accepted."),
    owner: line("Who is responsible for ending it."),
  },
  ["until", "reason", "owner"],
);

const common = {
  id: {
    ...text(
      "^(?=.{1,63}$)[a-z0-9]+(?:-[a-z0-9]+)*$",
      "kebab-case of at most 63 characters, such as `no-new-access`",
    ),
    description: "Name of the assertion in reports. Unique in the file.",
  },
  title: line("What is asserted, in one sentence."),
  view: choice(
    "`declared`: as the files say. `promoted`: as if every candidate were promoted. `both`: each must hold.",
    [...VIEWS, "both"],
    { default: "both" },
  ),
  waiver,
} as const;

const selection = {
  for: ref("request_selector", "Requests that are selected. All unless set."),
  except: ref("request_selector", "Requests that are excluded."),
  may_be_empty: {
    type: "boolean",
    default: false,
    description: "Whether it may select no request at all; otherwise that is a failure.",
  },
} as const;

/** A kind of assertion with keys of its own. */
function kind<
  const Kind extends string,
  const Keys extends Readonly<Record<string, Schema>>,
  const Required extends keyof Keys & string = never,
>(kindName: Kind, description: string, keys: Keys, required: readonly Required[] = []) {
  const properties = {
    kind: { const: kindName, description: "Kind of the assertion." },
    ...common,
    ...keys,
  } as const;
  return object<typeof properties, "kind" | "id" | "title" | Required>(description, properties, [
    "kind",
    "id",
    "title",
    ...required,
  ]);
}

const KINDS = {
  no_new_access: kind(
    "no_new_access",
    "Requests reach no provider in a region in head that they do not reach there in base.",
    { ...selection, to: ref("place_selector", "Endpoints that are selected. All unless set.") },
  ),
  access_not_granted: kind(
    "access_not_granted",
    "No plan of these requests contains such an endpoint in head.",
    { ...selection, to: ref("place_selector", "Endpoints that must not be reached.") },
    ["to"],
  ),
  always_routable: kind("always_routable", "These requests are routed in head.", {
    ...selection,
    min_places: {
      type: "integer",
      minimum: 1,
      maximum: 100,
      default: 1,
      description: "Number of endpoints that a request must at least be able to reach.",
    },
  }),
  implies: kind(
    "implies",
    "Every decision of head that meets `if` also meets `then`.",
    {
      ...selection,
      if: given(
        object("The condition that selects decisions.", {
          outcome,
          reaches: ref("place_selector", "Some endpoint of the plan is one of these."),
          denied_by: ref("denial_selector", "The request is denied by this."),
        }),
      ),
      // oxlint-disable-next-line unicorn/no-thenable -- a key of the file; no code awaits a schema
      then: given(
        object(
          "The condition that they must meet. A denial meets every `every_place`, and no `some_place`.",
          {
            outcome,
            every_place: ref("place_selector", "Every endpoint of the plan is one of these."),
            some_place: ref("place_selector", "Some endpoint of the plan is one of these."),
            primary: ref("place_selector", "The first endpoint of the plan is one of these."),
            denied_by: ref("denial_selector", "The request is denied by this."),
          },
        ),
      ),
    },
    ["if", "then"],
  ),
  equivalent: kind("equivalent", "These requests have the same outcome in base and in head.", {
    ...selection,
    ignoring: list("Changes that do not matter.", { type: "string", enum: CHANGE_KINDS }),
  }),
  cases: kind(
    "cases",
    "Single requests and their decisions in head.",
    {
      cases: {
        type: "array",
        minItems: 1,
        description: "The requests.",
        items: object(
          "One request and its expected decision.",
          {
            name: line("What the case is about. Its number unless set."),
            request: ref("case_request", "The request."),
            expect: given(
              object("Its decision; all given members must match. Endpoints by id.", {
                outcome,
                plan: refs("name", "All endpoints in the order of trying."),
                primary: ref("name", "The first endpoint."),
                contains: refs("name", "Endpoints that are in the plan."),
                lacks: refs("name", "Endpoints that are not in the plan."),
                denied_by: ref("denial_selector", "The request is denied by this."),
              }),
            ),
          },
          ["request", "expect"],
        ),
      },
    },
    ["cases"],
  ),
} as const;

export const ASSERTION_KINDS = Object.keys(KINDS);

const share = (description: string) =>
  ({ type: "number", minimum: 0, maximum: 100, description }) as const;

const coverage = object("How much of head all classes together must use, in per cent.", {
  constraints: share("Constraints that some request passes and some request fails."),
  reasons: share("Declared reasons that some request is given."),
  routes: share("Routes that some request goes to."),
  fallback_edges: share("Fallbacks of routes that are in at least one plan."),
  except: list(
    "What does not count: `policy/constraint`, `policy/constraint/REASON`, a route, or `route -> endpoint`.",
    text("^[^\\u0000-\\u001f\\u007f]{1,300}$", "one line of at most 300 characters"),
  ),
});

/**
 * The schema of `policies/assertions.yaml`, from which `schemas/assertions.schema.json` and the
 * tables of `docs/assertions.md` are generated. `check-names.ts` checks whether names exist.
 */
export const ASSERTIONS_SCHEMA: Schema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  $id: SCHEMA_ID,
  title: "assertions.yaml",
  ...object(
    "The assertions that `signalbox simulate` checks a change against. Unknown keys are errors.",
    {
      version: { const: 1, description: "Version of this format." },
      assertions: {
        type: "array",
        description: "What is unacceptable, one row each.",
        items: {
          type: "object",
          properties: {
            kind: {
              enum: ASSERTION_KINDS,
              description: "Kind of the assertion; it determines the other keys.",
            },
          },
          required: ["kind"],
          discriminator: { propertyName: "kind" },
          oneOf: ASSERTION_KINDS.map((kindName) => ({ $ref: `#/$defs/${kindName}` })),
        },
      },
      coverage,
    },
    ["version", "assertions"],
  ),
  $defs: { ...KINDS, ...SELECTOR_DEFINITIONS },
};

/** One row of the file, before any name is looked up. */
export type AuthoredAssertion = {
  [Kind in keyof typeof KINDS]: Authored<(typeof KINDS)[Kind]>;
}[keyof typeof KINDS];
type OfKind<Kind extends AuthoredAssertion["kind"]> = Extract<
  AuthoredAssertion,
  { readonly kind: Kind }
>;
export type AuthoredCase = OfKind<"cases">["cases"][number];
/** The expected outcome of a case on head; endpoints by id. */
export type CaseExpectation = AuthoredCase["expect"];
/** `if` of an implication; all given members must match. */
export type DecisionCondition = OfKind<"implies">["if"];
/**
 * `then` of an implication. A denial has no endpoints: it meets every `every_place` and no
 * `some_place` or `primary`.
 */
export type DecisionDemand = OfKind<"implies">["then"];
export type Waiver = Authored<typeof waiver>;

/** The file as its schema has it. */
export interface AuthoredAssertions {
  readonly version: 1;
  readonly assertions: readonly AuthoredAssertion[];
  readonly coverage?: Authored<typeof coverage>;
}
