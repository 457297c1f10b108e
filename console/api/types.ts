/**
 * The API's answers, derived from the schemas of its contract. Values of enums are open: another
 * replica may be newer than this page.
 */
import type { ValueOf } from "../../src/canon/json/schema.ts";
import type {
  CREATED_KEY,
  CREATE_KEY_SCHEMA,
  KEY_LIST,
  ROTATED_KEY,
  SERVICE_KEY,
} from "../../src/http/contract/key-schemas.ts";
import type {
  MISSING_REQUIREMENT,
  POLICY,
  POLICY_CONTENT,
  POLICY_LIST,
  POLICY_SHADOW,
  POLICY_TRANSITIONS,
  POLICY_VIEW,
} from "../../src/http/contract/policy-answers.ts";
import type { HEALTH, STATUS } from "../../src/http/contract/service-schemas.ts";
import type { MODEL, MODEL_LIST, SIMULATION } from "../../src/http/contract/answer-schemas.ts";
import type {
  DECISION,
  DECISION_EXPLANATION,
  DECISION_LIST,
} from "../../src/http/contract/decision-schemas.ts";
import type { GOVERNANCE_SUMMARY, SPEND } from "../../src/governance/summary-answer.ts";

type Answer<Schema> = ValueOf<Schema, object, "open">;

export type Summary = Answer<typeof GOVERNANCE_SUMMARY>;
export type Measures = Summary["totals"];
export type ServerStatus = Answer<typeof STATUS>;

export type Policy = Answer<typeof POLICY>;
export type PolicyLine = Answer<typeof POLICY_VIEW>;
export type PolicyList = Answer<typeof POLICY_LIST>;
export type PolicyContent = Answer<typeof POLICY_CONTENT>;
export type PolicyTransitions = Answer<typeof POLICY_TRANSITIONS>;
export type PolicyShadow = Answer<typeof POLICY_SHADOW>;
export type PolicySlot = NonNullable<PolicyLine["enforced"]>;
export type MissingRequirement = Answer<typeof MISSING_REQUIREMENT>;

export type ServiceKey = Answer<typeof SERVICE_KEY>;
export type KeyList = Answer<typeof KEY_LIST>;
export type CreatedKey = Answer<typeof CREATED_KEY>;
export type RotatedKey = Answer<typeof ROTATED_KEY>;
export type CreateKey = ValueOf<typeof CREATE_KEY_SCHEMA>;

export type Model = Answer<typeof MODEL>;
export type ModelList = Answer<typeof MODEL_LIST>;
export type RouteSimulation = Answer<typeof SIMULATION>;

export type DecisionList = Answer<typeof DECISION_LIST>;
export type DecisionLine = DecisionList["data"][number];
export type Decision = Answer<typeof DECISION>;
export type DecisionExplanation = Answer<typeof DECISION_EXPLANATION>;
export type DecisionCall = Decision["calls"][number];

export type Health = Answer<typeof HEALTH>;
export type EndpointHealth = Health["endpoints"][number];

export type Spend = Answer<typeof SPEND>;
export type SpendFigures = Spend["total"];
export type Budget = Spend["budgets"][number];
