import type { ComponentChildren } from "preact";
import type { Health, KeyList, ServerStatus, Spend, Summary } from "../../api/types.ts";
import { Panel } from "../../components/panel.tsx";
import { Badge, Code, Name, type Tone } from "../../components/text.tsx";
import { counted, dollars, whole, humanise } from "../../format/amounts.ts";
import { Time } from "../../format/time.tsx";
import { link } from "../../router.ts";
import { groupLabel } from "../group-label.ts";
import { isWell, troubleOf } from "./health.tsx";
import { expiresSoon } from "../keys/expiry.ts";
import { secondChoices, ServedInstead } from "../second-choice.tsx";
import { beginningOf, STEPS } from "../window.ts";
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

/** What has been read so far; `null` for what has not. */
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
    ...(spend?.budgets ?? []).flatMap((budget) => ofBudget(budget, Date.now())),
    ...(summary === null ? [] : candidatesOf(summary).flatMap(ofShadow)),
    ...(keys === null ? [] : ofKeys(keys)),
  ];
}

/** What a degraded part means, and where to look. */
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
    text: text ?? "This part of the server is degraded.",
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

function ofRoutes({ groups, window }: Summary): readonly Concern[] {
  const byRoute = Map.groupBy(groups, ({ group }) => groupLabel(group, "route") ?? "");
  return [...byRoute].flatMap(([route, minutes]) => {
    const failing = minutes.filter(({ ended }) => (ended?.terminals.failed ?? 0) > 0);
    const failed = failing.reduce((sum, { ended }) => sum + (ended?.terminals.failed ?? 0), 0);
    const requests = minutes.reduce((sum, each) => sum + each.requests, 0);
    const times = failing.map(({ group }) => beginningOf(groupLabel(group, "minute") ?? ""));
    const [first, last] = [Math.min(...times), Math.max(...times)];
    if (route === "" || failed < MANY_FAILED || failed < MUCH_FAILED * requests) return [];
    const isOver = Date.parse(window.end) / 1_000 - last > RECOVERED * STEPS.minute;
    return [
      {
        key: `route ${route}`,
        tone: isOver ? ("widen" as const) : ("stop" as const),
        kind: isOver ? "failed" : "failing",
        text: (
          <a href={link(["decisions"], { route, terminal: "failed", since: "1" })}>
            <Name of={route} />: {whole(failed)} of {counted(requests, "request")} failed{" "}
            {isOver ? "from" : "since"} <Time at={first * 1_000} minute />
            {isOver ? (
              <>
                {" "}
                to <Time at={(last + STEPS.minute) * 1_000} minute />
              </>
            ) : null}
          </a>
        ),
      },
    ];
  });
}

/** Routes that their second choice serves now: an outage of the first one fails no request. */
function ofSecondChoices({ groups, window }: Summary): readonly Concern[] {
  const byRoute = Map.groupBy(groups, ({ group }) => groupLabel(group, "route") ?? "");
  return [...byRoute].flatMap(([route, minutes]) => {
    const served = minutes.filter((each) => secondChoices(each) > 0);
    const times = served.map(({ group }) => beginningOf(groupLabel(group, "minute") ?? ""));
    const count = served.reduce((sum, each) => sum + secondChoices(each), 0);
    const requests = minutes.reduce((sum, each) => sum + each.requests, 0);
    const isOver = Date.parse(window.end) / 1_000 - Math.max(...times) > RECOVERED * STEPS.minute;
    if (route === "" || served.length === 0 || isOver) return [];
    return [
      {
        key: `second ${route}`,
        tone: "widen",
        kind: "second choice",
        text: (
          <a href={link(["decisions"], { route, since: "1" })}>
            <Name of={route} />: {whole(count)} of {counted(requests, "request")} answered
            <ServedInstead route={route} /> since <Time at={Math.min(...times) * 1_000} minute />
          </a>
        ),
      },
    ];
  });
}

function ofBudget(budget: Spend["budgets"][number], now: number): readonly Concern[] {
  const { name, workspace, limit_usd, spent_usd, window_end } = budget;
  const end = runsOutAt(budget, now);
  const isOver = isSpent(budget);
  if (lasts(budget) && spent_usd < NEARLY * limit_usd) return [];
  return [
    {
      key: `budget ${workspace} ${name}`,
      tone: isOver ? "stop" : "widen",
      kind: isOver ? "budget spent" : "budget",
      text: (
        <a href={link(["spend"])}>
          <Name of={workspace} /> <Name of={name} />: {dollars(spent_usd)} of {dollars(limit_usd)}
          {isOver ? (
            <>
              {", "}
              <RefusedSince budget={budget} />, renewed <Time at={window_end} minute />
            </>
          ) : end === null ? (
            <>
              {lasts(budget) ? ", renewed " : ", will not last until "}
              <Time at={window_end} />
            </>
          ) : (
            <>
              , will be spent about <Time at={end} minute />
            </>
          )}
        </a>
      ),
    },
  ];
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
          <Time at={first.expires_at} minute />
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
