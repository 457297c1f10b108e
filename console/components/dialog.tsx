import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import type { Action } from "../api/use-action.ts";
import { ErrorBox } from "./panel.tsx";

/** A modal question. Escape closes it, and the focus returns to where it was. */
export function Dialog(props: {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={element}
      aria-labelledby={id}
      onCancel={(event) => {
        // `close` comes late: for a dialog that another one has replaced it would close that one.
        event.preventDefault();
        props.onClose();
      }}
    >
      <h2 id={id}>{props.title}</h2>
      {props.children}
    </dialog>
  );
}

/** A question with one change as its answer; a failure keeps it open. */
export function ConfirmDialog<Value>(props: {
  readonly title: string;
  readonly verb: string;
  readonly danger?: boolean;
  readonly action: Pick<Action<Value>, "busy" | "failure">;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  const { busy, failure } = props.action;
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      {props.children}
      <ErrorBox failure={failure} />
      <div class="actions">
        <button
          type="button"
          class={props.danger === true ? "danger" : "primary"}
          disabled={busy}
          onClick={props.onConfirm}
        >
          {props.verb}
        </button>
        <button type="button" onClick={props.onClose}>
          Cancel
        </button>
      </div>
    </Dialog>
  );
}
