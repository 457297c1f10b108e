import { useState } from "preact/hooks";
import { call, type Result } from "../../api/client.ts";
import type { RotatedKey, ServiceKey } from "../../api/types.ts";
import { useAction } from "../../api/use-action.ts";
import { ConfirmDialog } from "../../components/dialog.tsx";
import { Choice } from "../../components/form.tsx";
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
  const action = useAction<RotatedKey>(onDone);
  return (
    <ConfirmDialog
      title="Rotate the key"
      verb="Rotate"
      action={action}
      onConfirm={() => void action.run(() => change(key, "rotate", Number(overlap)))}
      onClose={onClose}
    >
      <p>
        <Code of={key.id} /> of <Name of={key.owner} /> gets a successor with the same grants.
      </p>
      <Choice
        label="The old key still works for"
        value={overlap}
        options={OVERLAPS}
        onChange={setOverlap}
      />
    </ConfirmDialog>
  );
}

export function RevokeDialog({ of: key, onClose, onDone }: Props<ServiceKey>) {
  const action = useAction<ServiceKey>(onDone);
  return (
    <ConfirmDialog
      title="Revoke the key"
      verb="Revoke"
      danger
      action={action}
      onConfirm={() => void action.run(() => change(key, "revoke"))}
      onClose={onClose}
    >
      <p>
        <Code of={key.id} /> of <Name of={key.owner} /> ends within a second, with its tokens and
        running requests. This cannot be undone.
      </p>
    </ConfirmDialog>
  );
}

/** @param overlap seconds for which a rotated key still works. */
function change<Value>(
  { id, workspace }: ServiceKey,
  verb: "rotate" | "revoke",
  overlap?: number,
): Promise<Result<Value>> {
  return call<Value>(`/v1/keys/${encodeURIComponent(id)}/${verb}`, {
    method: "POST",
    workspace,
    ...(overlap !== undefined && { body: { overlap_seconds: overlap } }),
  });
}
