import type { ComponentChildren } from "preact";
import type { Budget, Health, KeyList, ServerStatus, Spend, Summary } from "../../api/types.ts";
import { Panel } from "../../components/panel.tsx";
import { Badge, Code, Name, Sentence, type Tone } from "../../components/text.tsx";
import { counted, dollars, whole, humanise } from "../../format/amounts.ts";
import { Time } from "../../format/time.tsx";
import { link } from "../../router.ts";
import { groupLabel } from "../group-label.ts";
import { isWell, troubleOf } from "./health.tsx";
import { expiresSoon } from "../keys/expiry.ts";
import { secondChoices, ServedInstead } from "../second-choice.tsx";
import { startOf, STEPS } from "../window.ts";
import { linkToVerdict } from "./verdicts.tsx";
import { isSpent, lasts, RefusedSince, runsOutAt } from "../spend/budgets.tsx";
import { BUDGET_REASONS } from "../spend/refusals.tsx";

/** Something that a person should look at. */
interface Concern {
  readonly key: string;
  readonly tone: Tone;
  readonly kind: string;
  readonly text: ComponentChildren;
}

/**
 * Failed requests of a route in an hour that a person should see: fewer, or a smaller share, are
 * for the charts.
 */
const MANY_FAILED = 3;
const MUCH_FAILED = 0.05;

/** A budget is near its end where it would be spent before its window is over, or nearly is. */
const NEARLY = 0.9;

/** Answers that have come so far; the others are `null`. */
interface Known {
  readonly status: ServerStatus | null;
  readonly health: Health | null;
  readonly summary: Summary | null;
  /** By minute and route. */
  readonly lastHour: Summary | null;
  readonly spend: Spend | null;
  /** Those that expire soon, the soonest first. */
  readonly keys: KeyList | null;
}

/** The worst first. */
function concernsOf({ status, health, summary, lastHour, spend, keys }: Known): readonly Concern[] {
  return [
    ...[...new Set([...(status?.degraded ?? []), ...(health?.degraded ?? [])])].map(ofDegraded),
    ...(health === null ? [] : ofHealth(health)),
    ...(lastHour === null ? [] : ofRoutes(lastHour)),
    ...(lastHour === null ? [] : ofSecondChoices(lastHour)),
    ...(summary === null ? [] : ofRefusals(summary)),
    ...ofBudgets(spend?.budgets ?? [], Date.now()),
    ...(summary === null ? [] : candidatesOf(summary).flatMap(ofShadow)),
    ...(keys === null ? [] : ofKeys(keys)),
  ];
}

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
  tone: "widen",
  kind: "no route yet",
  text: "No endpoint can be reached, so no request can be served. Approve a route for the workspace in routes.yaml.",
};

function ofHealth({ endpoints, replicas }: Health): readonly Concern[] {
  return [
    ...(endpoints.length === 0 ? [NO_ENDPOINT] : []),
    ...(replicas ?? []).filter(({ state }) => state === "lost").map(ofReplica),
    ...endpoints
      .filter((each) => !isWell(each))
      .map((each) => ({
        key: each.id,
        tone: "stop" as const,
        kind: humanise(each.state),
        text: (
          <>
            <Name of={each.id} />: {troubleOf(each)}
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
  return incidentsOf(summary, ({ ended }) => ended?.terminals.failed ?? 0)
    .filter(({ count, requests }) => count >= MANY_FAILED && count >= MUCH_FAILED * requests)
    .map(({ route, requests, count, from, until, isOver }) => ({
      key: `route ${route}`,
      tone: isOver ? "widen" : "stop",
      kind: isOver ? "failed" : "failing",
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
          <ServedInstead route={route} /> since <Time at={from} short />
        </a>
      ),
    }));
}

/** One line for each budget of a workspace, and one for all budgets of keys. */
function ofBudgets(budgets: readonly Budget[], now: number): readonly Concern[] {
  const ending = budgets.filter(
    (budget) => !lasts(budget) || budget.spent_usd >= NEARLY * budget.limit_usd,
  );
  const keyed = ending.filter(({ key }) => key !== null);
  return [
    ...ending.filter(({ key }) => key === null).map((budget) => ofBudget(budget, now)),
    ...(keyed.length === 0
      ? []
      : [
          {
            key: "budgets of keys",
            tone: keyed.some(isSpent) ? ("stop" as const) : ("widen" as const),
            kind: "budget",
            text: (
              <a href={link(["spend"])}>
                {counted(keyed.length, "budget of a key", "budgets of keys")} spent, or will not
                last
              </a>
            ),
          },
        ]),
  ];
}

function ofBudget(budget: Budget, now: number): Concern {
  const { name, workspace, limit_usd, spent_usd, window_end } = budget;
  const end = runsOutAt(budget, now);
  const isOver = isSpent(budget);
  return {
    key: `budget ${workspace} ${name}`,
    tone: isOver ? "stop" : "widen",
    kind: isOver ? "budget spent" : "budget",
    text: (
      <a href={link(["spend"])}>
        <Name of={workspace} /> <Name of={name} />: {dollars(spent_usd)} of {dollars(limit_usd)}
        {isOver ? (
          <>
            {", "}
            <RefusedSince budget={budget} />, renewed <Time at={window_end} short />
          </>
        ) : end === null ? (
          <>
            {lasts(budget) ? ", renewed " : ", will not last until "}
            <Time at={window_end} />
          </>
        ) : (
          <>
            , will be spent about <Time at={end} short />
          </>
        )}
      </a>
    ),
  };
}

/** Requests that budgets refused within the window, spent or nearly: money stops work. */
function ofRefusals({ verdicts }: Summary): readonly Concern[] {
  return verdicts
    .filter(({ reason_code, refused }) => refused > 0 && BUDGET_REASONS.includes(reason_code ?? ""))
    .map((verdict) => ({
      key: `refused ${verdict.reason_code}`,
      tone: "stop",
      kind: "budget",
      text: (
        <a href={linkToVerdict(verdict, "")}>
          {counted(verdict.refused, "request")} refused: {humanise(verdict.reason_code ?? "")}
        </a>
      ),
    }));
}

/** Revisions that are in shadow now: a promoted one is no candidate any more. */
function candidatesOf({ shadows, policies }: Summary): Summary["shadows"] {
  const current = new Map(policies.map(({ id, stored }) => [id, stored?.candidate?.revision]));
  return shadows.filter(({ policy, revision }) => current.get(policy) === revision);
}

function ofShadow({
  policy,
  revision,
  newly_denied,
  judged,
}: Summary["shadows"][number]): readonly Concern[] {
  if (newly_denied === 0) return [];
  return [
    {
      key: `policy ${policy} ${revision}`,
      tone: "widen",
      kind: "candidate",
      text: (
        <a href={link(["policies", policy])}>
          <Name of={policy} /> {revision} would newly deny {whole(newly_denied)} of{" "}
          {counted(judged, "request")}
        </a>
      ),
    },
  ];
}

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
  const concerns = concernsOf(of);
  const { health, summary, status, spend, keys } = of;
  if (concerns.length === 0) {
    const checks = [
      health === null ? null : `${counted(health.endpoints.length, "endpoint")} healthy`,
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
