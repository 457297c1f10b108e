import type { Answers } from "../fake-server.ts";
import { decisionList, decisionOf } from "./decisions.ts";
import {
  BEFORE,
  HEALTH,
  NO_TRAFFIC,
  NOTHING_SPENT,
  SHADOWS,
  spend,
  SPENT_BEFORE,
  STATUS,
  STOPPED,
  summary,
} from "./figures.ts";
import { keyPage, serviceKey } from "./keys.ts";
import { content, POLICIES, POLICY, SHADOW, TRANSITIONS } from "./policies.ts";
import { MODELS, simulation } from "./routes.ts";

/** Every page has something to show with these. */
export const ALL: Answers = {
  "GET /v1/health": { body: HEALTH },
  "GET /status": { body: STATUS },
  "GET /v1/governance/summary": ({ query }) => ({
    body: summary(query.get("group_by"), SHADOWS, query.has("end") ? BEFORE : STOPPED),
  }),
  "GET /v1/spend": ({ query }) => ({
    body: spend(query.get("group_by"), query.has("end") ? SPENT_BEFORE : {}),
  }),
  "GET /v1/decisions": { body: decisionList(24) },
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
    body: query.has("expires_before")
      ? keyPage([{ ...serviceKey(3), expires_at: "2026-12-01T00:00:00.000Z" }], null, 50)
      : keyPage(
          Array.from({ length: 16 }, (_, at) => serviceKey(at)),
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
