import { useState } from "preact/hooks";
import { call } from "../../api/client.ts";
import type { RotatedKey, ServiceKey } from "../../api/types.ts";
import { useAction } from "../../api/use-action.ts";
import { Dialog } from "../../components/dialog.tsx";
import { Choice } from "../../components/form.tsx";
import { ErrorBox } from "../../components/panel.tsx";
import { Code, Name } from "../../components/text.tsx";

interface Props<Done> {
  readonly of: ServiceKey;
  readonly onClose: () => void;
  readonly onDone: (value: Done) => void;
}

/** Seconds for which the old key still works. */
const OVERLAPS = [
  ["86400", "24 hours"],
  ["3600", "1 hour"],
  ["604800", "7 days"],
  ["0", "not at all"],
] as const;

export function RotateDialog({ of: key, onClose, onDone }: Props<RotatedKey>) {
  const [overlap, setOverlap] = useState<string>(OVERLAPS[0][0]);
  const { busy, failure, run } = useAction<RotatedKey>(onDone);
  const body = { overlap_seconds: Number(overlap) };
  return (
    <Dialog title="Rotate the key" onClose={onClose}>
      <p>
        <Code of={key.id} /> of <Name of={key.owner} /> gets a successor with the same grants.
      </p>
      {failure === null ? null : <ErrorBox failure={failure} />}
      <Choice
        label="The old key still works for"
        value={overlap}
        options={OVERLAPS}
        onChange={setOverlap}
      />
      <div class="actions">
        <button
          type="button"
          class="primary"
          disabled={busy}
          onClick={() =>
            void run(() =>
              call<RotatedKey>(`/v1/keys/${encodeURIComponent(key.id)}/rotate`, {
                method: "POST",
                body,
                workspace: key.workspace,
              }),
            )
          }
        >
          Rotate
        </button>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
      </div>
    </Dialog>
  );
}

export function RevokeDialog({ of: key, onClose, onDone }: Props<ServiceKey>) {
  const { busy, failure, run } = useAction<ServiceKey>(onDone);
  return (
    <Dialog title="Revoke the key" onClose={onClose}>
      <p>
        <Code of={key.id} /> of <Name of={key.owner} /> ends within a second, with its tokens and
        running requests. This cannot be undone.
      </p>
      {failure === null ? null : <ErrorBox failure={failure} />}
      <div class="actions">
        <button
          type="button"
          class="danger"
          disabled={busy}
          onClick={() =>
            void run(() =>
              call<ServiceKey>(`/v1/keys/${encodeURIComponent(key.id)}/revoke`, {
                method: "POST",
                workspace: key.workspace,
              }),
            )
          }
        >
          Revoke
        </button>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
      </div>
    </Dialog>
  );
}
