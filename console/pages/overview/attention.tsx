import type { ComponentChildren } from "preact";
import type {
  Budget,
  DecisionLine,
  Health,
  KeyList,
  ServerStatus,
  Spend,
  Summary,
} from "../../api/types.ts";
import { Panel } from "../../components/panel.tsx";
import { Badge, Code, Name, Sentence, type Tone } from "../../components/text.tsx";
import { counted, dollars, whole, humanise } from "../../format/amounts.ts";
import { Time } from "../../format/time.tsx";
import { link } from "../../router.ts";
import { groupLabel } from "../group-label.ts";
import { stateTone, type useHealth } from "../endpoint-state.ts";
import { expiresSoon } from "../keys/expiry.ts";
import { secondChoices, ServedInstead } from "../second-choice.tsx";
import { startOf, STEPS } from "../window.ts";
import { failedOf } from "./traffic-charts.tsx";
import { linkToVerdict } from "./verdicts.tsx";
import { KeyName, useKeyNames, type KeyNames } from "../keys/key-names.tsx";
import { isNearlySpent, isRefusing, isSpent, lasts, runsOutAt } from "../spend/budgets.tsx";
import { BUDGET_REASONS } from "../spend/refusals.tsx";
import { RefusedTimes, useRefusedBy, type RefusedBy } from "../spend/refused-by.tsx";

/** Something that a person should look at. */
interface Concern {
  readonly key: string;
  readonly tone: Tone;
  readonly kind: string;
  readonly text: ComponentChildren;
  /** When it was last seen, milliseconds since the epoch; absent: it is so now. */
  readonly at?: number;
}

/**
 * Requests that failed, or named no model, that a person should see: fewer, or a smaller share, are
 * for the charts.
 */
const MANY_FAILED = 3;
const MUCH_FAILED = 0.05;
const isMany = (count: number, requests: number): boolean =>
  count >= MANY_FAILED && count >= MUCH_FAILED * requests;

/** Answers that have come so far; the others are `null`. */
interface Known {
  readonly status: ServerStatus | null;
  readonly health: ReturnType<typeof useHealth>["value"];
  readonly summary: Summary | null;
  /** By minute and route. */
  readonly lastHour: Summary | null;
  readonly spend: Spend | null;
  /** Those that expire soon, the soonest first. */
  readonly keys: KeyList | null;
}

/** The worst first, and of those the newest. */
function concernsOf(
  { status, health, summary, lastHour, spend, keys }: Known,
  refusedBy: RefusedBy,
  names: KeyNames,
): readonly Concern[] {
  const budgets = spend?.budgets ?? [];
  const concerns: readonly Concern[] = [
    ...[...new Set([...(status?.degraded ?? []), ...(health?.degraded ?? [])])].map(ofDegraded),
    ...(health === null ? [] : ofHealth(health)),
    ...(lastHour === null ? [] : [...ofRoutes(lastHour), ...ofSecondChoices(lastHour)]),
    ...budgets.filter(isNearlySpent).map((budget) => ofBudget(budget, refusedBy(budget), names)),
    ...(summary === null
      ? []
      : ofVerdicts(
          summary,
          budgets.some((each) => isRefusing(each, refusedBy)),
        )),
    ...(summary === null ? [] : candidatesOf(summary).map(ofShadow)),
    ...(keys === null ? [] : ofKeys(keys)),
  ];
  return concerns.toSorted(
    (left, right) =>
      Number(right.tone === "stop") - Number(left.tone === "stop") ||
      (right.at ?? NOW) - (left.at ?? NOW),
  );
}

const NOW = Number.MAX_SAFE_INTEGER;

/** Meaning of each degraded part, and where to look. */
const PARTS: Readonly<Record<string, string>> = {
  evidence:
    "The evidence store does not take records: requests may be refused with 503. Its log line names the cause.",
  evidence_retention: "Old evidence could not be deleted; the next attempt follows.",
  limits: "Limits cannot be counted in the store.",
  policies: "The policy log cannot be read: policies stay as they were last known.",
  policy_modules: "The compiled module of a policy could not be kept.",
  reload_failed:
    "The newest configuration was not loaded; `signalbox check` says why. The one before decides.",
  suspended_policies: "A policy is suspended: its content is not at hand.",
  workers: "A worker process is down and is being started again.",
};

function ofDegraded(part: string): Concern {
  const text = Object.hasOwn(PARTS, part) ? PARTS[part] : undefined;
  return {
    key: `degraded ${part}`,
    tone: "stop",
    kind: humanise(part),
    text: <Sentence of={text ?? "This part of the server is degraded."} />,
  };
}

function ofReplica({ seen_at }: NonNullable<Health["replicas"]>[number]): Concern {
  return {
    key: `replica ${seen_at}`,
    tone: "widen",
    kind: "replica lost",
    text: (
      <>
        A process that wrote evidence ended without closing, last seen <Time at={seen_at} />. Its
        running requests are recorded as unknown.
      </>
    ),
  };
}

const NO_ENDPOINT: Concern = {
  key: "no endpoint",
  tone: "stop",
  kind: "no route yet",
  text: "No endpoint can be reached, so no request can be served. Approve a route for the workspace in routes.yaml.",
};

function ofHealth({ endpoints, replicas }: NonNullable<Known["health"]>): readonly Concern[] {
  return [
    ...(endpoints.length === 0 ? [NO_ENDPOINT] : []),
    ...(replicas ?? []).filter(({ state }) => state === "lost").map(ofReplica),
    ...endpoints
      .filter(({ state }) => stateTone(state) === "stop")
      .map(({ id, state, trouble }) => ({
        key: id,
        tone: "stop" as const,
        kind: humanise(state),
        text: (
          <>
            <Name of={id} />: {trouble}
          </>
        ),
      })),
  ];
}

/** Minutes without a failure after which a route has recovered. */
const RECOVERED = 3;

interface Incident {
  readonly route: string;
  readonly requests: number;
  /** Requests that it concerns, from the first minute of one to the end of the last. */
  readonly count: number;
  readonly from: number;
  readonly until: number;
  readonly isOver: boolean;
}

/** Routes with such requests. Times are milliseconds since the epoch. */
function incidentsOf(
  { groups, window }: Summary,
  countOf: (group: Summary["groups"][number]) => number,
): readonly Incident[] {
  const byRoute = Map.groupBy(groups, ({ group }) => groupLabel(group, "route") ?? "");
  return [...byRoute].flatMap(([route, minutes]) => {
    const concerned = minutes.filter((each) => countOf(each) > 0);
    if (route === "" || concerned.length === 0) return [];
    const times = concerned.map(({ group }) => 1_000 * startOf(group, "minute"));
    const until = Math.max(...times) + 1_000 * STEPS.minute;
    return {
      route,
      requests: minutes.reduce((sum, each) => sum + each.requests, 0),
      count: concerned.reduce((sum, each) => sum + countOf(each), 0),
      from: Math.min(...times),
      until,
      isOver: Date.parse(window.end) - until > (RECOVERED - 1) * 1_000 * STEPS.minute,
    };
  });
}

function ofRoutes(summary: Summary): readonly Concern[] {
  return incidentsOf(summary, failedOf)
    .filter(({ count, requests }) => isMany(count, requests))
    .map(({ route, requests, count, from, until, isOver }) => ({
      key: `route ${route}`,
      tone: isOver ? "widen" : "stop",
      kind: isOver ? "failed" : "failing",
      at: until,
      text: (
        <a href={link(["decisions"], { route, terminal: "failed", since: "1" })}>
          <Name of={route} />: {whole(count)} of {counted(requests, "request")} failed{" "}
          {isOver ? "from" : "since"} <Time at={from} short />
          {isOver ? (
            <>
              {" "}
              to <Time at={until} short />
            </>
          ) : null}
        </a>
      ),
    }));
}

/** Routes that their second choice serves now: an outage of the first one fails no request. */
function ofSecondChoices(summary: Summary): readonly Concern[] {
  return incidentsOf(summary, secondChoices)
    .filter(({ isOver }) => !isOver)
    .map(({ route, requests, count, from }) => ({
      key: `second ${route}`,
      tone: "widen",
      kind: "second choice",
      text: (
        <a href={link(["decisions"], { route, since: "1" })}>
          <Name of={route} />: {whole(count)} of {counted(requests, "request")} answered
          <ServedInstead route={route} since={from} />
        </a>
      ),
    }));
}

function ofBudget(budget: Budget, refused: readonly DecisionLine[], names: KeyNames): Concern {
  const { name, workspace, key, limit_usd, spent_usd, window_end } = budget;
  const [last] = refused;
  const isOver = isSpent(budget);
  const refuses = isOver || last !== undefined;
  const end = refuses ? null : runsOutAt(budget, Date.now());
  return {
    key: `budget ${workspace} ${key} ${name}`,
    tone: refuses ? "stop" : "widen",
    kind: isOver ? "budget spent" : refuses ? "budget refuses" : "budget",
    ...(last !== undefined && { at: Date.parse(last.at) }),
    text: (
      <a href={link(["spend"])}>
        <Name of={workspace} />
        {key === null ? null : (
          <>
            , key <KeyName of={key} names={names} />
          </>
        )}{" "}
        <Name of={humanise(name)} />: {dollars(spent_usd)} of {dollars(limit_usd)}
        {refuses ? (
          <>
            , <RefusedTimes of={refused} />
          </>
        ) : null}
        {end !== null
          ? ", will be spent about "
          : refuses || lasts(budget)
            ? ", renews "
            : ", will not last until "}
        <Time at={end ?? window_end} short />
      </a>
    ),
  };
}

const isBudgetRefusal = ({ reason_code, refused }: Summary["verdicts"][number]): boolean =>
  refused > 0 && BUDGET_REASONS.includes(reason_code ?? "");

/**
 * Refusals by budgets, unless a budget has its own line; and clients that name a model which their
 * workspace does not have.
 */
function ofVerdicts(
  { verdicts, totals: { requests } }: Summary,
  budgetRefuses: boolean,
): readonly Concern[] {
  return verdicts
    .filter((verdict) =>
      isBudgetRefusal(verdict)
        ? !budgetRefuses
        : verdict.reason_code === "model_not_found" && isMany(verdict.denied, requests),
    )
    .map((verdict) => ({
      key: `verdict ${verdict.reason_code}`,
      tone: verdict.refused > 0 ? "stop" : "widen",
      kind: verdict.refused > 0 ? "budget" : "denied",
      text: (
        <a href={linkToVerdict(verdict, "")}>
          {whole(verdict.denied + verdict.refused)} of {counted(requests, "request")} not served:{" "}
          {humanise(verdict.reason_code ?? "")}
        </a>
      ),
    }));
}

/** Revisions in shadow that would newly deny requests: a promoted one is no candidate any more. */
function candidatesOf({ shadows, policies }: Summary): Summary["shadows"] {
  const current = new Map(policies.map(({ id, stored }) => [id, stored?.candidate?.revision]));
  return shadows.filter(
    ({ policy, revision, newly_denied }) => newly_denied > 0 && current.get(policy) === revision,
  );
}

const ofShadow = ({
  policy,
  revision,
  newly_denied,
  judged,
}: Summary["shadows"][number]): Concern => ({
  key: `policy ${policy} ${revision}`,
  tone: "widen",
  kind: "candidate",
  text: (
    <a href={link(["policies", policy])}>
      <Name of={policy} /> {revision} would newly deny {whole(newly_denied)} of{" "}
      {counted(judged, "request")}
    </a>
  ),
});

/** One line for all keys. */
function ofKeys({ data, has_more }: KeyList): readonly Concern[] {
  const ending = data.filter((key) => expiresSoon(key, Date.now()));
  const [first] = ending;
  if (first === undefined) return [];
  return [
    {
      key: "keys",
      tone: "widen",
      kind: ending.length === 1 ? "key" : "keys",
      text: (
        <a href={link(["keys"], { show: "expiring" })}>
          {ending.length === 1 ? null : (
            <>
              {has_more ? "More than " : null}
              {counted(ending.length, "key")} expire soon, the first:{" "}
            </>
          )}
          <Name of={first.name ?? first.owner} /> (<Code of={first.id} />){" "}
          {ending.length === 1 ? "expires " : null}
          <Time at={first.expires_at} short />
        </a>
      ),
    },
  ];
}

const MOST = 12;

/** A line if all is well, otherwise a list. The line names only checks whose answer was read. */
export function AttentionPanel({ of }: { readonly of: Known }) {
  const { health, summary, status, spend, keys } = of;
  const refusedBy = useRefusedBy(
    summary?.verdicts.some(isBudgetRefusal) === true ? summary.window.start : null,
  );
  const concerns = concernsOf(of, refusedBy, useKeyNames());
  if (concerns.length === 0) {
    const checks = [
      health === null
        ? null
        : `${counted(health.endpoints.filter(({ state }) => state === "healthy").length, "endpoint")} healthy`,
      spend === null ? null : "no budget near its end",
      keys === null ? null : "no key about to expire",
    ];
    return (
      <section class="panel quiet" aria-label="Needs attention">
        <p>
          {health !== null || summary !== null || status !== null ? (
            <>
              <Badge tone="good">all well</Badge>{" "}
              <span class="hint">{checks.filter((check) => check !== null).join(", ")}</span>
            </>
          ) : (
            "\u00A0"
          )}
        </p>
      </section>
    );
  }
  return (
    <Panel title="Needs attention" aside={whole(concerns.length)}>
      <ul class="concerns">
        {concerns.slice(0, MOST).map(({ key, tone, kind, text }) => (
          <li key={key}>
            <Badge tone={tone}>{kind}</Badge> <span>{text}</span>
          </li>
        ))}
        {concerns.length > MOST ? <li>and {whole(concerns.length - MOST)} more</li> : null}
      </ul>
    </Panel>
  );
}
