import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import { withQuery } from "../../api/client.ts";
import type { Policy, PolicyShadow, Summary } from "../../api/types.ts";
import {
  inEveryWorkspace,
  mayApprove,
  mayManagePolicies,
  signedIn,
} from "../../api/session-state.ts";
import { useResource } from "../../api/use-resource.ts";
import { Loaded, Panel } from "../../components/panel.tsx";
import { numbers, Facts, Table } from "../../components/table.tsx";
import { Badge, Code, Name, Sentence } from "../../components/text.tsx";
import { counted, humanise, whole } from "../../format/amounts.ts";
import { printable } from "../../format/printable.ts";
import { Time } from "../../format/time.tsx";
import { link } from "../../router.ts";
import { KeyName, useKeyNames, type KeyNames } from "../keys/key-names.tsx";
import { linkToVerdict } from "../overview/verdicts.tsx";
import { ApproveDialog } from "./approve.tsx";
import { MissingList, type ChangeProps } from "./change.tsx";
import { DifferencePanel } from "./difference.tsx";
import {
  PromoteDialog,
  ReleaseDialog,
  rollBackTitle,
  RollBackDialog,
  WithdrawApprovalDialog,
  WithdrawCandidateDialog,
} from "./dialogs.tsx";
import { HistoryPanel } from "./history.tsx";
import { ShadowPanel } from "./shadow.tsx";
import { SlotsPanel } from "./slots.tsx";
import { stateTone } from "./wording.ts";

export function PolicyPage({ id }: { readonly id: string }) {
  const resource = useResource<Policy>(`/v1/policies/${encodeURIComponent(id)}`, 15_000);
  return (
    <>
      <p class="back">
        <a href={link(["policies"])}>Policies</a>
      </p>
      <Loaded of={resource} lines={10}>
        {(policy) => (
          <PolicyDetails
            policy={policy}
            etag={resource.etag ?? policy.etag}
            onChanged={resource.reload}
          />
        )}
      </Loaded>
    </>
  );
}

/** A question about the policy, which may become a change of it. */
type Question = (change: ChangeProps) => ComponentChildren;

interface DetailProps {
  readonly policy: Policy;
  readonly etag: string;
  readonly onChanged: () => void;
}

function PolicyDetails({ policy, etag, onChanged }: DetailProps) {
  // The state that the reader saw when the question opened: a poll must not change what is
  // answered.
  const [requested, setRequested] = useState<{
    readonly Question: Question;
    readonly change: ChangeProps;
  } | null>(null);
  const ask = (question: Question): void => {
    const onClose = (): void => setRequested(null);
    setRequested({ Question: question, change: { policy, etag, onClose, onChanged } });
  };
  const { id, candidate, title, owners } = policy;
  const shadow = useResource<PolicyShadow>(
    candidate === null
      ? null
      : withQuery(`/v1/policies/${encodeURIComponent(id)}/shadow`, { examples: 20 }),
    60_000,
  );
  // Figures of another revision must not make this one look harmless.
  const newlyDenied =
    shadow.value?.revision === candidate?.revision ? (shadow.value?.newly_denied ?? null) : null;
  return (
    <>
      <div class="title">
        <h1>
          <Name of={id} /> <Badge tone={stateTone(policy.state)}>{humanise(policy.state)}</Badge>
        </h1>
        <Actions policy={policy} newlyDenied={newlyDenied} ask={ask} />
      </div>
      <NotManagedHere />
      <p class="lead">
        <Sentence of={title} />{" "}
        <small>
          owned by <Name of={owners.join(", ")} />
        </small>
      </p>
      {candidate === null ? null : (
        <>
          <PromotionPanel policy={policy} newlyDenied={newlyDenied} />
          <ShadowPanel revision={candidate.revision} of={shadow} />
        </>
      )}
      {policy.enforced === null ? null : <EnforcedPanel id={id} />}
      <HeldPanel policy={policy} ask={ask} />
      <DifferencePanel policy={policy} />
      <SlotsPanel policy={policy} />
      <HistoryPanel id={id} etag={etag} />
      {requested === null ? null : <requested.Question {...requested.change} />}
    </>
  );
}

/** Why there is no button, for somebody who may change policies elsewhere. */
function NotManagedHere() {
  if (signedIn()?.policies !== null) return null;
  return (
    <p class="hint">
      Workspaces of this session do not manage policies (<code>policies.managed_by</code> in
      routes.yaml): you see what concerns them, and change nothing here.
    </p>
  );
}

/** @param newlyDenied `null` until the effect of the candidate is loaded. */
function Actions({
  policy,
  newlyDenied,
  ask,
}: {
  readonly policy: Policy;
  readonly newlyDenied: number | null;
  readonly ask: (question: Question) => void;
}) {
  const { candidate, approvals, can_roll_back, missing } = policy;
  const isReady = missing?.length === 0;
  const isOwn = approvals.some(({ by }) => isMine(by));
  const lacks = (name: MissingName): boolean =>
    missing?.some(({ requirement }) => requirement === name) === true;
  // An approver may approve again, to attach a report.
  const needsOther = isOwn && lacks("approvals") && !lacks("report") && !lacks("assertions");
  const reason = useId();
  return (
    <div class="actions">
      {mayApprove() && candidate !== null ? (
        <>
          <button
            type="button"
            class={isReady || isOwn ? undefined : "primary"}
            disabled={needsOther}
            aria-describedby={needsOther ? reason : undefined}
            onClick={() => ask(ApproveDialog)}
          >
            Approve
          </button>
          {needsOther ? (
            <small id={reason}>you have approved it; another person has to, too</small>
          ) : null}
          {!isOwn ? null : (
            <button type="button" onClick={() => ask(WithdrawApprovalDialog)}>
              Withdraw my approval
            </button>
          )}
        </>
      ) : null}
      {mayManagePolicies() && candidate !== null ? (
        <>
          <button
            type="button"
            class={isReady && newlyDenied === 0 ? "primary" : undefined}
            disabled={!isReady}
            title={printable((missing ?? []).map(({ message }) => message).join(" "))}
            onClick={() => ask((change) => <PromoteDialog {...change} newlyDenied={newlyDenied} />)}
          >
            Promote
          </button>
          <button type="button" onClick={() => ask(WithdrawCandidateDialog)}>
            Withdraw candidate
          </button>
        </>
      ) : null}
      {mayManagePolicies() && can_roll_back ? (
        <button type="button" class="danger" onClick={() => ask(RollBackDialog)}>
          {rollBackTitle(policy)}
        </button>
      ) : null}
    </div>
  );
}

type MissingName = NonNullable<Policy["missing"]>[number]["requirement"];

/** True if the person who is signed in made the approval. */
function isMine({ person, key_id }: Policy["approvals"][number]["by"]): boolean {
  const own = signedIn()?.person;
  return (
    own !== undefined &&
    (person === undefined ? key_id === own.key : person.subject === own.subject)
  );
}

/** Requests that the enforced revision denied in the last 24 hours, and why. */
function EnforcedPanel({ id }: { readonly id: string }) {
  const resource = useResource<Summary>(
    withQuery("/v1/governance/summary", inEveryWorkspace()),
    60_000,
  );
  return (
    <Panel title="Denied in the last 24 hours">
      <Loaded of={resource} lines={3}>
        {({ verdicts }) => {
          const own = verdicts.filter(({ policy }) => policy === id);
          return own.length === 0 ? (
            <p class="hint">It denied no request of the workspaces of this session.</p>
          ) : (
            <Table
              label="Denied in the last 24 hours"
              cards
              rows={own}
              keyOf={({ constraint, reason_code }) => `${constraint} ${reason_code}`}
              columns={[
                { head: "Constraint", cell: ({ constraint }) => <Code of={constraint} /> },
                { head: "Reason", cell: ({ reason_code }) => <Code of={reason_code} /> },
                numbers("Requests", (verdict: Summary["verdicts"][number]) => (
                  <a href={linkToVerdict(verdict, "24")}>{whole(verdict.denied)}</a>
                )),
              ]}
            />
          );
        }}
      </Loaded>
    </Panel>
  );
}

function PromotionPanel({
  policy,
  newlyDenied,
}: {
  readonly policy: Policy;
  readonly newlyDenied: number | null;
}) {
  const { missing, approvals, candidate } = policy;
  const names = useKeyNames();
  const ready = missing?.length === 0;
  const isHarmless = newlyDenied === null || newlyDenied === 0;
  return (
    <Panel
      title={`Promotion of ${candidate?.revision ?? ""}`}
      aside={
        <Badge tone={ready && isHarmless ? (newlyDenied === null ? "quiet" : "good") : "widen"}>
          {!ready
            ? "requirements missing"
            : newlyDenied === null
              ? "no requirement missing"
              : isHarmless
                ? "ready"
                : "would deny requests"}
        </Badge>
      }
    >
      {missing === null || ready ? (
        <p>Nothing is missing: a person with policy management can promote it.</p>
      ) : (
        <>
          <p>A promotion still needs</p>
          <MissingList of={missing} />
        </>
      )}
      {isHarmless ? null : (
        <p class="notice widen">
          A promotion would newly deny {counted(newlyDenied, "request")} of those that it judged in
          shadow: see the next panel.
        </p>
      )}
      {approvals.length === 0 ? (
        <p class="hint">This content has no approval yet.</p>
      ) : (
        <Table
          label="Approvals"
          cards
          rows={approvals}
          keyOf={({ by, at }) => `${by.key_id} ${at}`}
          columns={[
            { head: "Approved by", cell: ({ by }) => <Approver of={by} names={names} /> },
            { head: "Workspace", cell: ({ by }) => <Name of={by.workspace} /> },
            { head: "Roles", cell: ({ by }) => <Name of={by.roles.join(", ")} /> },
            { head: "When", cell: ({ at }) => <Time at={at} /> },
            {
              head: "Report",
              cell: ({ report }) => (report === null ? "none" : humanise(report.status)),
            },
          ]}
        />
      )}
    </Panel>
  );
}

/** The person, by the name that the provider gave; the key where no person signed in. */
function Approver({
  of: { person, key_id },
  names,
}: {
  readonly of: Policy["approvals"][number]["by"];
  readonly names: KeyNames;
}) {
  return person === undefined ? (
    <KeyName of={key_id} names={names} />
  ) : (
    <Name of={person.name ?? person.subject} />
  );
}

function HeldPanel({
  policy,
  ask,
}: {
  readonly policy: Policy;
  readonly ask: (question: Question) => void;
}) {
  const rows = [
    ...policy.held.map((each) => ({ ...each, why: "rolled back" })),
    ...policy.withdrawn.map((each) => ({ ...each, why: "withdrawn" })),
  ];
  if (rows.length === 0) return null;
  return (
    <Panel title="Cannot be promoted before a release">
      {rows.map(({ revision, digest, why }) => (
        <div class="actions" key={digest}>
          <Facts
            rows={[
              ["Revision", revision],
              ["Content", <Code of={digest} short={12} />],
              ["Why", why],
            ]}
          />
          {mayManagePolicies() ? (
            <button
              type="button"
              class="small"
              onClick={() =>
                ask((change) => <ReleaseDialog {...change} {...{ digest, revision }} />)
              }
            >
              Release {revision}
            </button>
          ) : null}
        </div>
      ))}
    </Panel>
  );
}
