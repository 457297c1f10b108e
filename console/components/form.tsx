import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { printable } from "../format/printable.ts";

export function Field({
  label,
  hint,
  children,
}: {
  readonly label: string;
  readonly hint?: string;
  readonly children: ComponentChildren;
}) {
  return (
    <label class="field">
      <span>{label}</span>
      {children}
      {hint === undefined ? null : <small>{hint}</small>}
    </label>
  );
}

const titled = (option: Option) =>
  typeof option === "string" ? ([option, option] as const) : option;

/** A value that is its own title, or with another one. */
export type Option = string | readonly [value: string, title: string];

export function Choice(props: {
  readonly label: string;
  readonly value: string;
  readonly options: readonly Option[];
  readonly onChange: (value: string) => void;
}) {
  return (
    <Field label={props.label}>
      <select value={props.value} onChange={(event) => props.onChange(event.currentTarget.value)}>
        {props.options.map(titled).map(([value, title]) => (
          <option key={value} value={value}>
            {printable(title)}
          </option>
        ))}
      </select>
    </Field>
  );
}

/** A few values, each as a button; `value` names the pressed ones. */
export function Segments(props: {
  readonly label: string;
  readonly value: string | readonly string[];
  readonly options: readonly Option[];
  readonly onChange: (value: string) => void;
}) {
  return (
    <div class="segments" role="group" aria-label={props.label}>
      {props.options.map(titled).map(([value, title]) => (
        <button
          key={value}
          type="button"
          aria-pressed={[props.value].flat().includes(value) ? "true" : "false"}
          onClick={() => props.onChange(value)}
        >
          {title}
        </button>
      ))}
    </div>
  );
}

/** Closed at first on a narrow screen, which it would fill; open on others. */
export function Fold(props: {
  readonly title: string;
  readonly open?: boolean;
  readonly children: ComponentChildren;
}) {
  const [isOpen] = useState(() => props.open === true || matchMedia("(min-width: 40rem)").matches);
  return (
    <details class="fold" open={isOpen}>
      <summary>{props.title}</summary>
      {props.children}
    </details>
  );
}
