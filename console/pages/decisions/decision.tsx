import { useEffect, useState } from "preact/hooks";
import type { Decision, DecisionExplanation } from "../../api/types.ts";
import { withQuery } from "../../api/client.ts";
import { inEveryWorkspace } from "../../api/session-state.ts";
import { useResource } from "../../api/use-resource.ts";
import { Empty, ErrorBox, isUnavailable, Loaded, Panel } from "../../components/panel.tsx";
import { Facts, Table } from "../../components/table.tsx";
import { Badge, Code, Command, CopyButton, Name, Sentence } from "../../components/text.tsx";
import { milliseconds, whole, humanise } from "../../format/amounts.ts";
import { Time } from "../../format/time.tsx";
import { link } from "../../router.ts";
import { KeyName, useKeyNames } from "../keys/key-names.tsx";
import { CandidatesPanel } from "./candidates-panel.tsx";
import { VerdictPanel } from "./verdict-panel.tsx";
import { sentenceOf } from "./sentence.ts";
import { costOf, resultOf, toneOf } from "./wording.ts";

/** Polls while the request runs. */
const RUNNING = 5_000;

export function DecisionPage({ id }: { readonly id: string }) {
  const path = withQuery(`/v1/decisions/${encodeURIComponent(id)}`, inEveryWorkspace());
  const [isRunning, setRunning] = useState(false);
  const resource = useResource<Decision>(path, isRunning ? RUNNING : undefined);
  const { failure, value } = resource;
  const runs = value?.terminal === null;
  useEffect(() => setRunning(runs), [runs]);
  return (
    <>
      <p class="back">
        <a href={link(["decisions"])}>Decisions</a>
      </p>
      <div class="title">
        <h1>
          <Code of={id} />
        </h1>
        <CopyButton text={id} label="Copy id" />
      </div>
      {failure?.status === 404 && !isUnavailable(failure) ? (
        <>
          <ErrorBox failure={failure} />
          <Empty title="There is no such decision here">
            Check the id, or choose the workspace whose key sent the request. Evidence older than
            the retention is deleted.
          </Empty>
        </>
      ) : (
        <Loaded of={resource} lines={10}>
          {(decision) => <DecisionDetails decision={decision} />}
        </Loaded>
      )}
    </>
  );
}

function DecisionDetails({ decision }: { readonly decision: Decision }) {
  const result = resultOf(decision);
  const names = useKeyNames();
  const second = decision.second_choice;
  const isDecided = decision.outcome === "route" || decision.outcome === "deny";
  const explanation = useResource<DecisionExplanation>(
    isDecided
      ? withQuery(
          `/v1/decisions/${encodeURIComponent(decision.id)}/explanation`,
          inEveryWorkspace(),
        )
      : null,
  );
  return (
    <>
      <Panel title="What happened" aside={<Badge tone={toneOf(result)}>{result}</Badge>}>
        <p>
          <Sentence of={sentenceOf(decision, retryAfterOf(decision))} />
        </p>
        <Facts
          rows={[
            ["Arrived", <Time at={decision.at} seconds />],
            ["Status", whole(decision.status)],
            ["Operation", decision.stream ? `${decision.operation}, streamed` : decision.operation],
            ["Route", <Name of={decision.route} />],
            [
              decision.terminal === "failed" ? "Last call" : "Answered by",
              <Name of={decision.endpoint} />,
            ],
            ["Second choice, because", second && humanise(second)],
            ["Workspace", <Name of={decision.workspace} />],
            ["Key", <KeyName of={decision.key} names={names} />],
            ["Environment", <Name of={decision.environment} />],
            ["Finish reason", decision.finish && humanise(decision.finish)],
            ["Routing table", <Code of={decision.table_revision} short={12} />],
            ["Policy set", <Code of={decision.policy_set} />],
          ]}
        />
      </Panel>
      {decision.policy === null && decision.reason === null ? null : (
        <VerdictPanel decision={decision} explained={explanation.value} />
      )}
      <CandidatesPanel decision={decision} explanation={explanation} />
      <Panel title="Time, tokens and cost">
        <Waterfall decision={decision} />
        <Facts
          rows={[
            ["Total", milliseconds(decision.total_ms)],
            ["First byte, from arrival", milliseconds(decision.first_byte_ms)],
            ["Router itself", milliseconds(decision.router_ms)],
            ["Input tokens", whole(decision.input_tokens)],
            ["Output tokens", whole(decision.output_tokens)],
            ["Read from cache", whole(decision.cache_read_tokens)],
            ["Reasoning", whole(decision.reasoning_tokens)],
            ["Cost, by list price", costOf(decision)],
          ]}
        />
        {decision.estimated ? (
          <p class="hint">
            The provider did not count all tokens; limits were settled by an estimate.
          </p>
        ) : null}
      </Panel>
      <ChangesPanel decision={decision} />
      <ShadowPanel decision={decision} />
      <Panel title="The request’s shape">
        <p class="hint">What the decision looked at. Content is never recorded.</p>
        <Facts
          rows={[
            ["Capabilities", <List of={decision.needs} />],
            ["Features", <List of={decision.features} />],
            ["Context", humanise(decision.context)],
            ["Longest output", humanise(decision.max_output)],
            ["Reasoning effort", humanise(decision.reasoning_effort)],
            ["Vector length", whole(decision.dimensions)],
            ["Workload", <Name of={decision.workload} />],
            ["Owner", <Name of={decision.owner} />],
            ["Key labels", <List of={decision.labels} />],
            ["Client retries", whole(decision.retries)],
            ["Token", <Code of={decision.token} />],
          ]}
        />
        {decision.preferences === null ? null : (
          <Command title="Preferences of the caller" text={JSON.stringify(decision.preferences)} />
        )}
      </Panel>
      {decision.explain === null ? null : (
        <Panel title="Repeat the decision">
          <Command title="In the folder of routes.yaml" text={decision.explain} />
        </Panel>
      )}
    </>
  );
}

/** Where the time went: the router, each call, and the pauses between them. */
function Waterfall({ decision }: { readonly decision: Decision }) {
  const { calls, total_ms: total } = decision;
  if (total === null || total <= 0 || calls.length === 0) return null;
  const lines = partsOf(decision, total);
  return (
    <ol class="waterfall" aria-label="Where the time went">
      {lines.map(({ title, start, ms, tone }) => {
        const left = Math.min(100, (100 * start) / total);
        const width = Math.min(100 - left, (100 * ms) / total);
        return (
          <li key={`${title} ${start}`}>
            <span class="term">
              <Name of={title} />
            </span>
            <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
              {[25, 50, 75].map((x) => (
                <line key={x} x1={x} x2={x} y2={10} />
              ))}
              <rect class={tone} x={left} width={Math.max(0.5, width)} height={10} />
            </svg>
            <span class="number">{milliseconds(ms)}</span>
          </li>
        );
      })}
      <li class="axis" aria-hidden="true">
        {[0, 0.25, 0.5, 0.75, 1].map((part) => (
          <small key={part}>{part === 0 ? "0" : milliseconds(part * total)}</small>
        ))}
      </li>
    </ol>
  );
}

/** A wait needs a line of its own from this share of the time, and from some milliseconds. */
const WORTH_A_LINE = 0.02;

/** The router chooses no longer pause (docs/dispatch.md): the provider did. Milliseconds. */
const OWN_PAUSE = 5_000;

interface Part {
  readonly title: string;
  /** Milliseconds from the arrival. */
  readonly start: number;
  readonly ms: number;
  readonly tone: string;
}

function partsOf({ calls, router_ms: router }: Decision, total: number): readonly Part[] {
  const parts: Part[] = [];
  let end = router ?? 0;
  if (router !== null) parts.push({ title: "router", start: 0, ms: router, tone: "rest" });
  const waitUntil = (start: number, title: (ms: number) => string): void => {
    const ms = start - end;
    // Starts are whole milliseconds.
    if (ms >= Math.max(2, WORTH_A_LINE * total))
      parts.push({ title: title(ms), start: end, ms, tone: "waiting" });
  };
  for (const [at, { endpoint, start_ms, duration_ms: ms, failure }] of calls.entries()) {
    const isRetry = calls.slice(0, at).some((before) => before.endpoint === endpoint);
    // Older records have no starts: their calls follow one another.
    const start = start_ms ?? end;
    waitUntil(start, (pause) =>
      pause > OWN_PAUSE
        ? `${RETRY_AFTER} of ${endpoint}`
        : isRetry
          ? "pause before a retry"
          : "waiting",
    );
    parts.push({
      title: failure === null ? endpoint : `${endpoint}: ${humanise(failure)}`,
      start,
      ms,
      tone: failure === null ? "a" : "stop",
    });
    end = Math.max(end, start + ms);
  }
  const isOld = calls.some(({ start_ms }) => start_ms === null);
  waitUntil(total, () => (isOld ? "waiting, in all" : "after the last call"));
  return parts;
}

const RETRY_AFTER = "retry-after";

/** Waits for providers, milliseconds in all. */
const retryAfterOf = (decision: Decision): number =>
  partsOf(decision, decision.total_ms ?? 0)
    .filter(({ title }) => title.startsWith(RETRY_AFTER))
    .reduce((sum, { ms }) => sum + ms, 0);

function ChangesPanel({ decision }: { readonly decision: Decision }) {
  const { edits, stripped, dropped, change, ended } = decision;
  if ([edits, stripped, dropped].flat().length === 0 && ended === null && change === null)
    return null;
  return (
    <Panel title="What was changed">
      <Facts
        rows={[
          ["Edited", <List of={edits} />],
          ["Taken out of the request", <List of={stripped} />],
          ["Left out by translation", <List of={dropped} />],
          ["Ended by the router", ended && humanise(ended)],
          [humanise(change?.what ?? ""), <Code of={change?.id} />],
        ]}
      />
    </Panel>
  );
}

function ShadowPanel({ decision: { shadow } }: { readonly decision: Decision }) {
  if (shadow.length === 0) return null;
  return (
    <Panel title="What policies in shadow would have done">
      <Table
        label="Verdicts in shadow"
        rows={shadow}
        keyOf={({ policy, revision, constraint }) => `${policy} ${revision} ${constraint}`}
        columns={[
          {
            head: "Policy",
            cell: ({ policy, revision }) => (
              <a href={link(["policies", policy])}>
                <Name of={policy} /> {revision}
              </a>
            ),
          },
          { head: "Constraint", cell: ({ constraint }) => <Code of={constraint} /> },
          { head: "Verdict", cell: ({ verdict, effect }) => humanise(effect ?? verdict) },
          { head: "Reason", cell: ({ reason }) => <Code of={reason} /> },
        ]}
      />
    </Panel>
  );
}

export function List({ of }: { readonly of: readonly string[] }) {
  if (of.length === 0) return <Name of={null} />;
  return (
    <ul class="chips">
      {of.map((each) => (
        <li key={each}>
          <Code of={each} />
        </li>
      ))}
    </ul>
  );
}
