import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { call } from "../../api/client.ts";
import type { MissingRequirement, Policy, PolicyLine } from "../../api/types.ts";
import { useAction } from "../../api/use-action.ts";
import { ConfirmDialog, Dialog } from "../../components/dialog.tsx";
import { Table } from "../../components/table.tsx";
import { Name, Sentence } from "../../components/text.tsx";
import { counted, humanise } from "../../format/amounts.ts";

/** Props of a dialog about a policy: the state that the reader has seen, and callbacks. */
export interface ChangeProps {
  readonly policy: Policy;
  readonly etag: string;
  readonly onClose: () => void;
  /** The policy is to be read anew. */
  readonly onChanged: () => void;
}

/** Requirements of a promotion that are not met. */
export function MissingList({ of }: { readonly of: readonly MissingRequirement[] }) {
  return (
    <ul class="bullets">
      {of.map(({ requirement, message, fix }) => (
        <li key={requirement}>
          <Sentence of={message} />{" "}
          <small>
            <Sentence of={fix} />
          </small>
        </li>
      ))}
    </ul>
  );
}

/**
 * A question about a policy. The change applies to the state that the reader has seen and to no
 * other: where it has changed meanwhile, the server answers 412, and the dialog shows the
 * difference and changes nothing.
 */
export function ChangeDialog(props: {
  readonly change: ChangeProps;
  readonly title: string;
  /** Below `/v1/policies/ID/`. */
  readonly path: string;
  readonly body: object;
  readonly verb: string;
  readonly danger?: boolean;
  /** Without If-Match, for changes that name their content by its digest. */
  readonly unconditional?: boolean;
  readonly children: ComponentChildren;
}) {
  const { policy, etag, onClose, onChanged } = props.change;
  const [now, setNow] = useState<Policy | null>(null);
  const action = useAction<PolicyLine>(() => {
    onChanged();
    onClose();
  });
  const address = `/v1/policies/${encodeURIComponent(policy.id)}`;
  const submit = async (): Promise<void> => {
    await action.run(async () => {
      const result = await call<PolicyLine>(`${address}/${props.path}`, {
        method: "POST",
        body: props.body,
        ...(props.unconditional === true ? {} : { ifMatch: etag }),
      });
      if (!result.ok && result.failure.status === 412) {
        const current = await call<Policy>(address);
        if (current.ok) setNow(current.value);
      }
      return result;
    });
  };
  if (now !== null) {
    return <Conflict before={policy} now={now} onClose={onClose} onChanged={onChanged} />;
  }
  return (
    <ConfirmDialog {...props} action={action} onConfirm={() => void submit()} onClose={onClose} />
  );
}

function Conflict({
  before,
  now,
  onClose,
  onChanged,
}: {
  readonly before: Policy;
  readonly now: Policy;
  readonly onClose: () => void;
  readonly onChanged: () => void;
}) {
  const rows = differences(before, now);
  const reloadAndClose = (): void => {
    onChanged();
    onClose();
  };
  return (
    <Dialog title="The policy has changed meanwhile" onClose={reloadAndClose}>
      <p>Nothing was done. Somebody changed the policy after you read it.</p>
      {rows.length === 0 ? (
        <p>What you saw is the same now; its record has moved on.</p>
      ) : (
        <Table
          label="What changed meanwhile"
          rows={rows}
          keyOf={({ what }) => what}
          columns={[
            { head: "", cell: ({ what }) => what },
            { head: "You saw", cell: ({ was }) => <Name of={was} /> },
            { head: "Now", cell: ({ is }) => <Name of={is} /> },
          ]}
        />
      )}
      <div class="actions">
        <button type="button" class="primary" onClick={reloadAndClose}>
          Show it as it is now
        </button>
      </div>
    </Dialog>
  );
}

interface Difference {
  readonly what: string;
  readonly was: string;
  readonly is: string;
}

function differences(before: Policy, now: Policy): readonly Difference[] {
  const was = factsOf(before);
  return Object.entries(factsOf(now)).flatMap(([what, is]) => {
    const old = was[what] ?? "none";
    return old === is ? [] : [{ what, was: old, is }];
  });
}

function factsOf({
  state,
  enforced,
  candidate,
  approvals,
  missing,
  held,
  withdrawn,
}: Policy): Readonly<Record<string, string>> {
  return {
    State: humanise(state),
    "Enforced revision": enforced?.revision ?? "none",
    "Candidate revision": candidate?.revision ?? "none",
    Approvals:
      approvals.length === 0
        ? "none"
        : approvals.map(({ by }) => by.person?.name ?? by.person?.subject ?? by.key_id).join(", "),
    "Missing requirements":
      missing === null ? "no candidate" : counted(missing.length, "requirement"),
    Held: held.map(({ revision }) => revision).join(", ") || "none",
    Withdrawn: withdrawn.map(({ revision }) => revision).join(", ") || "none",
  };
}
