import { useState } from "preact/hooks";
import type { Policy } from "../../api/types.ts";
import { Choice } from "../../components/form.tsx";
import { Code, Name } from "../../components/text.tsx";
import { counted } from "../../format/amounts.ts";
import { ChangeDialog, type ChangeProps } from "./change.tsx";
import { ROLLBACK_REASONS } from "./wording.ts";

export function PromoteDialog({
  newlyDenied,
  ...change
}: ChangeProps & {
  /** Requests that the candidate would have denied; `null` where that is not loaded. */
  readonly newlyDenied: number | null;
}) {
  const { candidate, enforced, id } = change.policy;
  if (candidate === null) return null;
  const expected = {
    candidate_revision: candidate.revision,
    enforced_revision: enforced?.revision ?? null,
  };
  return (
    <ChangeDialog
      change={change}
      title={`Promote ${candidate.revision}`}
      path="promotions"
      body={{ expected }}
      verb="Promote"
    >
      <p>
        {candidate.content === "removal"
          ? "The policy ends: "
          : "It decides every request from now on: "}
        <Name of={candidate.revision} /> of <Name of={id} />
        {enforced === null
          ? ". Nothing was enforced before."
          : `, instead of ${enforced.revision}.`}
      </p>
      {newlyDenied === 0 ? null : (
        <p class="notice widen">
          {newlyDenied === null
            ? "Its effect on requests is not loaded yet."
            : `It would have newly denied ${counted(newlyDenied, "request")} since it is in shadow.`}
        </p>
      )}
    </ChangeDialog>
  );
}

export const rollBackTitle = ({ rollback_to }: Policy): string =>
  rollback_to === null ? "Roll back" : `Roll back to ${rollback_to.revision}`;

export function RollBackDialog(change: ChangeProps) {
  const [reason, setReason] = useState<string>("wrong_denials");
  const { enforced, rollback_to } = change.policy;
  if (enforced === null) return null;
  const body = { expected: { enforced_revision: enforced.revision }, reason };
  return (
    <ChangeDialog
      change={change}
      title={`Roll back ${enforced.revision}`}
      path="rollbacks"
      body={body}
      verb={rollBackTitle(change.policy)}
      danger
    >
      <p>
        {rollback_to === null
          ? "Nothing is enforced afterwards"
          : `${rollback_to.revision} is enforced again`}
        , and {enforced.revision} is held: it cannot be promoted before it is released.
      </p>
      <Choice
        label="Reason, for the log"
        value={reason}
        options={ROLLBACK_REASONS}
        onChange={setReason}
      />
    </ChangeDialog>
  );
}

export function WithdrawCandidateDialog(change: ChangeProps) {
  const { candidate } = change.policy;
  if (candidate === null) return null;
  const body = { what: "candidate", expected: { candidate_revision: candidate.revision } };
  return (
    <ChangeDialog
      change={change}
      title={`Withdraw ${candidate.revision}`}
      path="withdrawals"
      body={body}
      verb="Withdraw"
      danger
    >
      <p>
        It leaves shadow and is not judged any more. It cannot be promoted before it is released.
      </p>
    </ChangeDialog>
  );
}

export function WithdrawApprovalDialog(change: ChangeProps) {
  const { candidate } = change.policy;
  if (candidate === null) return null;
  const body = { what: "approval", digest: candidate.digest };
  return (
    <ChangeDialog
      change={change}
      title="Withdraw your approval"
      path="withdrawals"
      body={body}
      verb="Withdraw"
      unconditional
    >
      <p>
        Your approval of {candidate.revision} does not count any more. You may approve it again.
      </p>
    </ChangeDialog>
  );
}

export function ReleaseDialog({
  digest,
  revision,
  ...change
}: ChangeProps & { readonly digest: string; readonly revision: string }) {
  return (
    <ChangeDialog
      change={change}
      title={`Release ${revision}`}
      path="releases"
      body={{ digest }}
      verb="Release"
    >
      <p>
        Content <Code of={digest} short={12} /> can be promoted again.
      </p>
    </ChangeDialog>
  );
}
