import type { Spend, Summary } from "../../../console/api/types.ts";
import type { Answers } from "../fake-server.ts";
import { decisionLine, decisionList, decisionOf, SECOND, WAITED } from "./decisions.ts";
import {
  BEFORE,
  HEALTH,
  KEY_BUDGET,
  NO_TRAFFIC,
  NOTHING_SPENT,
  SHADOWS,
  spend,
  SPENT_BEFORE,
  SPENT_DAY_BEFORE,
  SPENT_IN_A_DAY,
  STATUS,
  STOPPED,
  summary,
} from "./figures.ts";
import { keyPage, serviceKey } from "./keys.ts";
import { content, POLICIES, POLICY, SHADOW, TRANSITIONS } from "./policies.ts";
import { MODELS, simulation } from "./routes.ts";

/** One key ends within a week, and one is that of the decisions. */
const ENDING = serviceKey(3, { expires_at: "2026-12-01T00:00:00.000Z" });
const KEYS = [
  ...Array.from({ length: 15 }, (_, at) => (at === 3 ? ENDING : serviceKey(at))),
  serviceKey(15, { id: "4fzkq8wpc2rt", owner: "sam@example.com", workload: "" }),
];

/** A group in the span before: the sum of all is that of {@link SPENT_BEFORE}. */
const smaller = (group: Spend["groups"][number]): Spend["groups"][number] => ({
  ...group,
  requests: Math.round(group.requests * 0.86),
  cost_usd: group.cost_usd === null ? null : group.cost_usd * 0.86,
});

/** Of the last hour, whose last minutes the second choice of a route answered. */
const servedBySecond = (hour: Summary): Summary => ({
  ...hour,
  groups: hour.groups.map((group, at) => ({
    ...group,
    group: { ...group.group, route: SECOND.route },
    ...(group.ended !== null && {
      ended: { ...group.ended, second_choice: { total: at < 46 ? 0 : 3, reasons: {} } },
    }),
  })),
});

/** Every page has something to show with these. */
export const ALL: Answers = {
  "GET /v1/health": { body: HEALTH },
  "GET /status": { body: STATUS },
  "GET /v1/governance/summary": ({ query }) => ({
    body:
      query.get("group_by") === "minute,route"
        ? servedBySecond(summary("minute,route", SHADOWS))
        : summary(query.get("group_by"), SHADOWS, query.has("end") ? BEFORE : STOPPED),
  }),
  "GET /v1/spend": ({ query }) => {
    const [start, end] = [query.get("start"), query.get("end")];
    const isDay = start !== null && Date.parse(start) >= Date.parse("2026-11-22T02:00:00Z");
    const changes = isDay
      ? end === null
        ? SPENT_IN_A_DAY
        : SPENT_DAY_BEFORE
      : end === null
        ? {}
        : SPENT_BEFORE;
    const body = spend(query.get("group_by"), changes);
    return {
      body:
        end === null
          ? { ...body, budgets: [...body.budgets, KEY_BUDGET] }
          : { ...body, groups: body.groups.map(smaller) },
    };
  },
  "GET /v1/decisions": ({ query }) => ({
    body:
      query.get("route") === SECOND.route
        ? { ...decisionList(1), data: [decisionLine(0, { ...SECOND, object: "decision" })] }
        : decisionList(24),
  }),
  "GET /v1/decisions/*": decisionOf,
  "GET /v1/policies": { body: POLICIES },
  "GET /v1/policies/tool-approval": { body: POLICY, headers: { etag: POLICY.etag } },
  "GET /v1/policies/tool-approval/shadow": { body: SHADOW },
  "GET /v1/policies/tool-approval/content": ({ query }) => ({ body: content(query.get("digest")) }),
  "GET /v1/policies/tool-approval/transitions": { body: TRANSITIONS },
  "GET /v1/policies/eu-residency/content": { body: content(null) },
  "GET /v1/models": { body: MODELS },
  "POST /v1/route/simulate": ({ body }) => ({
    body: simulation((body as { model: string }).model),
  }),
  "GET /v1/keys": ({ query }) => ({
    body: keyPage(
      query.has("expires_before") ? KEYS.filter(({ id }) => id === ENDING.id) : KEYS,
      null,
      50,
    ),
  }),
};

/** A server that has just started. */
export const EMPTY: Answers = {
  ...ALL,
  "GET /v1/health": { body: { ...HEALTH, endpoints: [] } },
  "GET /v1/governance/summary": { body: NO_TRAFFIC },
  "GET /v1/spend": { body: spend("route", NOTHING_SPENT) },
  "GET /v1/decisions": { body: decisionList(0) },
  "GET /v1/policies": { body: { ...POLICIES, data: [] } },
  "GET /v1/models": { body: { ...MODELS, data: [] } },
  "GET /v1/keys": { body: keyPage([], null, 50) },
};

/** Addresses of the pages, and a heading or text that each has once it shows its answers. */
export const PAGES = [
  ["overview", "#/", "Endpoints"],
  ["decisions", "#/decisions", "24 decisions, page 1"],
  ["decision", "#/decisions/req_01a20b4bce6f69705078dac708bbe749", "Repeat the decision"],
  ["refused", "#/decisions/req_refused", "Why it was refused"],
  ["waited", `#/decisions/${WAITED.id}`, "Repeat the decision"],
  ["policies", "#/policies", "Figures are of the last 24 hours"],
  ["policy", "#/policies/tool-approval", "Example requests"],
  ["spend", "#/spend?by=day", "Budgets"],
  ["routes", "#/routes?workspace=search", "How would a request be decided?"],
  ["connect", "#/connect", "Claude Code"],
  ["report", "#/report", "Open a report"],
  ["keys", "#/keys", "16 keys, page 1"],
] as const;

/** Members whose texts are somebody's names. */
const NAMES = new Set(
  "id route endpoint provider region model key owner labels title owners workspace workspaces environment workload needs features reason reasons policy constraint name names created_by key_id roles keyId plan calls edits stripped dropped obligation kind regions capabilities operations reason_code failed_constraint subject scopes".split(
    " ",
  ),
);
/** Texts that decide what is shown, and times. */
const OWN = new Set(["day", "hour", "minute"]);

/** The value with another text for each name. */
export function renamed(value: unknown, name: string, key = "", isNamed = false): unknown {
  if (typeof value === "string") return isNamed && !OWN.has(key) ? name + value : value;
  if (Array.isArray(value)) return value.map((each) => renamed(each, name, key, isNamed));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([member, part]) => [
      member,
      renamed(
        part,
        name,
        member,
        typeof part !== "object" || Array.isArray(part) || part === null
          ? key === "group" || NAMES.has(member)
          : false,
      ),
    ]),
  );
}
